#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tlm;

namespace {

ValueId ints(NodeImporter &node, Dims dims, std::vector<int64_t> numbers) {
  return node.constant(DType::I64, std::move(dims),
                       makeConstant(std::move(numbers)));
}

/// Truncates; what does not fit is clamped, NaN is 0.
int64_t toInt(double number) {
  if (std::isnan(number))
    return 0;
  if (number >= 9.2e18)
    return std::numeric_limits<int64_t>::max();
  if (number <= -9.2e18)
    return std::numeric_limits<int64_t>::min();
  return int64_t(number);
}

} // namespace

Status tlm::importConstant(NodeImporter &node) {
  if (const OnnxTensor *tensor = node.tensorAttribute("value")) {
    if (tensor->dtype == DType::Invalid)
      return node.unsupported("ONNX data type " +
                              std::to_string(tensor->onnxType));
    return node.bind(
        node.constant(tensor->dtype, tensor->dims, tensor->constant));
  }
  if (node.hasAttribute("value_float"))
    return node.bind(
        node.constant({}, {node.floatAttribute("value_float", 0)}));
  if (node.hasAttribute("value_int"))
    return node.bind(ints(node, {}, {node.intAttribute("value_int", 0)}));
  if (node.hasAttribute("value_floats")) {
    auto numbers = node.floatsAttribute("value_floats");
    Dims dims{int64_t(numbers.size())};
    return node.bind(node.constant(std::move(dims), std::move(numbers)));
  }
  if (node.hasAttribute("value_ints")) {
    auto numbers = node.intsAttribute("value_ints", {});
    Dims dims{int64_t(numbers.size())};
    return node.bind(ints(node, std::move(dims), std::move(numbers)));
  }
  return node.unsupported("a value that is no tensor or number");
}

Status tlm::importConstantOfShape(NodeImporter &node) {
  if (!node.allConstant())
    return node.unsupported("a shape that is computed from data");
  TLM_TRY(Dims dims, node.constantInts(0));
  auto count = checkedCountOf(dims);
  if (!count || *count * int64_t(sizeof(float)) > kMaxFoldedBytes)
    return makeError("the constant " + dimsText(dims) +
                     " has a negative dim or is too large");
  const OnnxTensor *tensor = node.tensorAttribute("value");
  if (!tensor)
    return node.bind(node.constant(std::move(dims),
                                   std::vector<float>(size_t(*count), 0.0f)));
  if (countOf(tensor->dims) != 1)
    return makeError("value must have one element, found " +
                     dimsText(tensor->dims));
  if (tensor->dtype == DType::Invalid)
    return node.unsupported("ONNX data type " +
                            std::to_string(tensor->onnxType));
  Value one{"", tensor->dtype, {}, tensor->constant};
  return node.bind(node.constant(tensor->dtype, std::move(dims),
                                 repeatElement(one, *count)));
}

/// Every shape is static, so this is a constant whatever the operand is.
Status tlm::importShape(NodeImporter &node) {
  const Dims dims = node.dims(node.input(0));
  int64_t rank = int64_t(dims.size());
  auto bound = [&](const char *name, int64_t absent) {
    int64_t at = node.intAttribute(name, absent);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  return node.bind(ints(node, {end - start},
                        Dims(dims.begin() + start, dims.begin() + end)));
}

Status tlm::importSize(NodeImporter &node) {
  return node.bind(ints(node, {}, {countOf(node.dims(node.input(0)))}));
}

Status tlm::importRange(NodeImporter &node) {
  if (!node.allConstant())
    return node.unsupported("bounds that are computed from data");
  const DType dtype = node.value(node.input(0)).dtype;
  if (dtype != DType::I64 && dtype != DType::I32)
    return node.unsupported("type " + std::string(nameOf(dtype)));
  int64_t bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    TLM_TRY(auto numbers, node.constantInts(i));
    if (numbers.size() != 1)
      return makeError("input " + std::to_string(i) + " must be a scalar");
    bounds[i] = numbers[0];
  }
  auto [start, limit, delta] = bounds;
  if (delta == 0)
    return makeError("a delta of 0");
  double count = std::ceil((double(limit) - double(start)) / double(delta));
  if (count > double(kMaxFoldedBytes) / sizeof(int64_t))
    return makeError("a range of more than 1 GiB");
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < int64_t(std::max(0.0, count)); ++i)
    numbers.push_back(int64_t(uint64_t(start) + uint64_t(i) * uint64_t(delta)));
  Dims dims{int64_t(numbers.size())};
  return node.bind(node.constant(dtype, dims, writeInts(dtype, numbers)));
}

Status tlm::importCast(NodeImporter &node) {
  const Value value = node.value(node.input(0));
  int64_t to = node.intAttribute("to", 0);
  if (to == int64_t(value.dtype))
    return node.bind(node.input(0));
  DType dtype = to > 0 && to < 64 ? DType(to) : DType::Invalid;
  bool known = holdsInts(dtype) || dtype == DType::F32;
  if (!known)
    return node.unsupported("to ONNX data type " + std::to_string(to));
  if (!value.isConstant())
    return node.unsupported("a computed tensor");
  auto numbers = readNumbers(value);
  if (!numbers)
    return node.unsupported("from " + std::string(nameOf(value.dtype)));
  if (dtype == DType::F32)
    return node.bind(node.constant(
        value.dims, std::vector<float>(numbers->begin(), numbers->end())));
  std::vector<int64_t> result;
  if (holdsInts(value.dtype))
    result = readInts(value); // exact, also beyond 2^53
  else
    for (double number : *numbers)
      result.push_back(dtype == DType::Bool ? number != 0 : toInt(number));
  return node.bind(node.constant(dtype, value.dims, writeInts(dtype, result)));
}

Status tlm::importComparison(NodeImporter &node) {
  if (!node.allConstant())
    return node.unsupported("computed tensors");
  const Value a = node.value(node.input(0)), b = node.value(node.input(1));
  auto x = readNumbers(a), y = readNumbers(b);
  if (!x || !y)
    return node.unsupported("type " + std::string(nameOf(a.dtype)));
  TLM_TRY(Dims dims, broadcastDims(a.dims, b.dims));
  if (!checkedCountOf(dims) ||
      countOf(dims) * int64_t(sizeof(int64_t)) > kMaxFoldedBytes)
    return makeError("the constant result " + dimsText(dims) +
                     " is larger than 1 GiB");
  auto fromX = broadcastIndices(a.dims, dims);
  auto fromY = broadcastIndices(b.dims, dims);
  std::vector<int64_t> result;
  for (size_t i = 0; i < fromX.size(); ++i) {
    double left = (*x)[size_t(fromX[i])], right = (*y)[size_t(fromY[i])];
    const std::string &op = node.opType();
    result.push_back(op == "Equal"     ? left == right
                     : op == "Greater" ? left > right
                     : op == "Less"    ? left < right
                     : op == "And"     ? left != 0 && right != 0
                                       : left != 0 || right != 0);
  }
  return node.bind(
      node.constant(DType::Bool, dims, writeInts(DType::Bool, result)));
}

Status tlm::importWhere(NodeImporter &node) {
  if (!node.allConstant())
    return node.unsupported("computed tensors");
  const Value condition = node.value(node.input(0));
  const Value a = node.value(node.input(1)), b = node.value(node.input(2));
  if (a.dtype != b.dtype || condition.dtype != DType::Bool)
    return makeError("a condition of bool and two operands of one type are "
                     "needed");
  TLM_TRY(Dims both, broadcastDims(a.dims, b.dims));
  TLM_TRY(Dims dims, broadcastDims(both, condition.dims));
  if (!checkedCountOf(dims) ||
      countOf(dims) * int64_t(sizeof(int64_t)) > kMaxFoldedBytes)
    return makeError("the constant result " + dimsText(dims) +
                     " is larger than 1 GiB");
  auto truths = readInts(condition);
  auto fromC = broadcastIndices(condition.dims, dims);
  auto fromA = broadcastIndices(a.dims, dims);
  auto fromB = broadcastIndices(b.dims, dims);
  // Pick from both operands laid end to end.
  Value joined{"", a.dtype, {countOf(a.dims) + countOf(b.dims)}, {}};
  auto bytes = std::make_shared<std::vector<std::byte>>(
      a.constant.data, a.constant.data + a.constant.sizeBytes);
  bytes->insert(bytes->end(), b.constant.data,
                b.constant.data + b.constant.sizeBytes);
  joined.constant = {bytes->data(), bytes->size(), bytes};
  std::vector<int64_t> picked;
  for (size_t i = 0; i < fromC.size(); ++i)
    picked.push_back(truths[size_t(fromC[i])] ? fromA[i]
                                              : countOf(a.dims) + fromB[i]);
  return node.bind(node.constant(a.dtype, dims, pickElements(joined, picked)));
}
