#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"
#include "import/ops/Expression.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

ValueId ints(NodeImporter &node, Dims dims, std::vector<int64_t> numbers) {
  return node.constant(DType::I64, std::move(dims),
                       makeConstant(std::move(numbers)));
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
  if (!checkedCountOf(dims))
    return makeError("the constant " + dimsText(dims) +
                     " has a negative dim or is too large");
  Expression e(node, dims);
  const OnnxTensor *tensor = node.tensorAttribute("value");
  if (!tensor)
    return node.bind(e.emit(e.number(0, DType::F32)));
  if (countOf(tensor->dims) != 1)
    return makeError("value must have one element, found " +
                     dimsText(tensor->dims));
  if (tensor->dtype == DType::Invalid)
    return node.unsupported("ONNX data type " +
                            std::to_string(tensor->onnxType));
  ValueId one = node.constant(tensor->dtype, {}, tensor->constant);
  return node.bind(e.emit(e.load(one, {})));
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
  const DType dtype = node.dtype(node.input(0));
  if (dtype == DType::Bool)
    return node.unsupported("type bool");
  double bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (node.dtype(node.input(i)) != dtype)
      return makeError("bounds of several types");
    TLM_TRY(bounds[i], node.constantNumber(i));
  }
  auto [start, limit, delta] = bounds;
  if (delta == 0)
    return makeError("a delta of 0");
  double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count * double(sizeOf(dtype)) <= double(kMaxFoldedBytes)))
    return makeError("a range of more than 8 GiB");
  Expression e(node, {int64_t(count)});
  auto bound = [&](size_t i) { // exact, also beyond 2^53
    return e.load(
        node.input(i),
        std::vector<Term>(node.dims(node.input(i)).size(), e.integer(0)));
  };
  return node.bind(e.emit(bound(0) + e.loop(0).cast(dtype) * bound(2)));
}

/// Ones on one diagonal of a matrix like the operand.
Status tlm::importEyeLike(NodeImporter &node) {
  const Dims dims = node.dims(node.input(0));
  DType dtype =
      DType(node.intAttribute("dtype", int64_t(node.dtype(node.input(0)))));
  if (dims.size() != 2)
    return makeError("operand " + dimsText(dims) + " is no matrix");
  if (!isInteger(dtype) && dtype != DType::F32 && dtype != DType::F64 &&
      dtype != DType::Bool)
    return node.unsupported("ONNX data type " + std::to_string(int(dtype)));
  int64_t k = node.intAttribute("k", 0);
  if (k < -kMaxElements || k > kMaxElements)
    return makeError("k is " + std::to_string(k));
  Expression e(node, dims);
  Term hit = equal(e.loop(0) + double(k), e.loop(1));
  return node.bind(e.emit(hit.cast(dtype)));
}

/// Hann, Hamming and Blackman: sums of cosines over a constant size.
Status tlm::importWindow(NodeImporter &node) {
  TLM_TRY(double size, node.constantNumber(0));
  if (!(size >= 0 && size <= double(kMaxWindow)))
    return makeError("a size of " + std::to_string(size));
  DType dtype = DType(node.intAttribute("output_datatype", 1));
  if (dtype != DType::F32 && dtype != DType::F64)
    return node.unsupported("ONNX data type " + std::to_string(int(dtype)));
  bool periodic = node.intAttribute("periodic", 1) != 0;
  double turn = 6.283185307179586 / (periodic ? size : size - 1);
  Expression e(node, {int64_t(size)});
  Term angle = e.loop(0).cast(DType::F64) * turn;
  Term wave = apply(Scalar::Cos, angle);
  Term result = 0.5 - wave * 0.5;
  if (node.opType() == "HammingWindow")
    result = 25.0 / 46 - wave * (21.0 / 46);
  if (node.opType() == "BlackmanWindow")
    result = 0.42 - wave * 0.5 + apply(Scalar::Cos, angle * 2) * 0.08;
  return node.bind(e.emit(result.cast(dtype)));
}
