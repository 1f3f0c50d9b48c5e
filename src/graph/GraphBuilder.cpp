#include "graph/GraphBuilder.h"

#include "graph/ShapeRule.h"
#include "graph/reference/Kernels.h"

#include <algorithm>

using namespace tlm;

namespace {

template <typename T>
Constant own(std::vector<T> data) {
  static const std::byte empty{};
  auto holder = std::make_shared<const std::vector<T>>(std::move(data));
  Constant constant;
  constant.sizeBytes = holder->size() * sizeof(T);
  constant.data = holder->empty()
                      ? &empty
                      : reinterpret_cast<const std::byte *>(holder->data());
  constant.keepAlive = holder;
  return constant;
}

} // namespace

Constant tlm::makeConstant(std::vector<float> data) {
  return own(std::move(data));
}

Constant tlm::makeConstant(std::vector<int64_t> data) {
  return own(std::move(data));
}

Constant tlm::makeConstant(Tensor tensor) {
  return tensor.dtype == DType::F32 ? own(std::move(tensor.data))
                                    : own(std::move(tensor.bytes));
}

FoldBudget FoldBudget::forWeights(int64_t weightBytes) {
  FoldBudget budget;
  int64_t weights = std::clamp<int64_t>(weightBytes, 0, int64_t(1) << 42);
  budget.cost += 16 * weights;
  budget.bytes += 2 * weights;
  return budget;
}

bool FoldBudget::take(int64_t shareOfCost, int64_t shareOfBytes) {
  if (shareOfCost > cost || shareOfBytes > bytes)
    return false;
  cost -= shareOfCost;
  bytes -= shareOfBytes;
  return true;
}

ValueId GraphBuilder::addInput(std::string name, DType dtype, Dims dims) {
  ValueId id = addConstant(std::move(name), dtype, std::move(dims), {});
  graph.inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::addConstant(std::string name, DType dtype, Dims dims,
                                  Constant constant) {
  graph.values.push_back(
      {std::move(name), dtype, std::move(dims), std::move(constant)});
  return ValueId(graph.values.size() - 1);
}

ValueId GraphBuilder::addConstant(std::string name, Dims dims,
                                  std::vector<float> data) {
  TLM_CHECK(int64_t(data.size()) == countOf(dims)) << name;
  return addConstant(std::move(name), DType::F32, std::move(dims),
                     makeConstant(std::move(data)));
}

Result<ValueId> GraphBuilder::add(Op op, std::vector<ValueId> inputs,
                                  OpAttributes attributes, std::string name,
                                  std::string nodeName) {
  std::vector<Dims> dims;
  for (ValueId id : inputs)
    dims.push_back(graph.value(id).dims);
  TLM_TRY(Dims result, inferShape(op, dims, attributes));
  return append(op, std::move(inputs), std::move(attributes), std::move(result),
                std::move(name), std::move(nodeName));
}

Result<ValueId> GraphBuilder::addReshape(ValueId input, Dims dims,
                                         std::string name,
                                         std::string nodeName) {
  const Value &from = graph.value(input);
  std::optional<int64_t> count = checkedCountOf(dims);
  if (!count || *count != countOf(from.dims))
    return makeError("cannot reshape " + dimsText(from.dims) + " (" +
                     std::to_string(countOf(from.dims)) + " elements) to " +
                     dimsText(dims));
  if (from.isConstant())
    return addConstant(std::move(name), from.dtype, std::move(dims),
                       from.constant);
  return append(Op::Reshape, {input}, {}, std::move(dims), std::move(name),
                std::move(nodeName));
}

Result<ValueId> GraphBuilder::append(Op op, std::vector<ValueId> inputs,
                                     OpAttributes attributes, Dims dims,
                                     std::string name, std::string nodeName) {
  bool constant = true;
  std::vector<TensorView> operands;
  std::vector<DType> types;
  std::vector<Dims> shapes;
  for (ValueId id : inputs) {
    const Value &value = graph.value(id);
    constant = constant && value.isConstant();
    operands.emplace_back(value);
    types.push_back(value.dtype);
    shapes.push_back(value.dims);
  }
  TLM_TRY(DType dtype, inferType(op, types, shapes, attributes));
  int64_t sizeBytes = countOf(dims) * int64_t(sizeOf(dtype));
  if (constant && sizeBytes > kMaxFoldedBytes)
    return makeError("the constant result " + typeText(dtype, dims) +
                     " is larger than 8 GiB");
  FoldBudget once{FoldBudget().cost, kMaxFoldedBytes};
  if (constant &&
      (budget ? *budget : once)
          .take(reference::costOf(op, attributes, shapes, dims), sizeBytes)) {
    Tensor result =
        reference::evaluate(op, attributes, operands, dims, 1, dtype);
    return addConstant(std::move(name), dtype, std::move(dims),
                       makeConstant(std::move(result)));
  }
  ValueId output = addConstant(std::move(name), dtype, std::move(dims), {});
  graph.nodes.push_back({op,
                         std::move(nodeName),
                         std::move(inputs),
                         {output},
                         std::move(attributes)});
  return output;
}
