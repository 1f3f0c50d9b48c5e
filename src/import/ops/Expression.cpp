#include "import/ops/Expression.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"

#include <algorithm>

using namespace tlm;

DType Term::dtype() const { return in->builder.dtypeOf(id); }

Term Term::cast(DType dtype) const { return {in, in->builder.cast(id, dtype)}; }

Term Expression::load(ValueId operand, const std::vector<Term> &indices) {
  const Value &value = node.value(operand);
  if (value.isConstant() && countOf(value.dims) == 1) {
    if (holdsInts(value.dtype))
      return integer(readInts(value)[0], value.dtype);
    if (auto numbers = readNumbers(value))
      return number((*numbers)[0], value.dtype);
  }
  auto found = std::ranges::find(operands, operand);
  int32_t index = int32_t(found - operands.begin());
  if (found == operands.end())
    operands.push_back(operand);
  std::vector<ComputationBuilder::Node> at;
  for (Term term : indices)
    at.push_back(term.id);
  return {this, builder.load(index, value.dtype, std::move(at))};
}

Term Expression::broadcast(ValueId operand) {
  const Dims &dims = node.dims(operand);
  std::vector<Term> indices;
  for (size_t i = 0; i < dims.size(); ++i)
    indices.push_back(dims[i] == 1 ? integer(0)
                                   : loop(loops.size() - dims.size() + i));
  return load(operand, indices);
}

std::vector<Term> Expression::allLoops() {
  std::vector<Term> indices;
  for (size_t i = 0; i < loops.size(); ++i)
    indices.push_back(loop(i));
  return indices;
}

Term Expression::element(ValueId operand) { return load(operand, allLoops()); }

Term Expression::op(Scalar op, const std::vector<Term> &arguments) {
  std::vector<ComputationBuilder::Node> ids;
  for (Term term : arguments)
    ids.push_back(term.id);
  return {this, builder.op(op, std::move(ids))};
}

Result<ValueId> Expression::emit(Term result) {
  if (operands.empty()) // an operator reads something
    operands.push_back(emitScalar(node, 0));
  return node.emit(Op::Compute, operands, builder.finish(result.id));
}

Term tlm::apply(Scalar op, Term x) { return x.in->op(op, {x}); }
Term tlm::apply(Scalar op, Term a, Term b) { return a.in->op(op, {a, b}); }
Term tlm::select(Term condition, Term a, Term b) {
  return a.in->op(Scalar::Select, {condition, a, b});
}

namespace {

Scalar scalarOf(Op op) {
  switch (op) {
  case Op::Add:
    return Scalar::Add;
  case Op::Sub:
    return Scalar::Sub;
  case Op::Mul:
    return Scalar::Mul;
  case Op::Div:
    return Scalar::Div;
  case Op::Max:
    return Scalar::Max;
  case Op::Min:
    return Scalar::Min;
  default:
    TLM_CHECK(false) << nameOf(op) << " has no two operands";
    return Scalar::Add;
  }
}

} // namespace

Result<ValueId> tlm::emitBinary(NodeImporter &node, Op op, ValueId a,
                                ValueId b) {
  const Value &left = node.value(a), &right = node.value(b);
  if (left.dtype != right.dtype)
    return makeError("operands are " + typeText(left.dtype, left.dims) +
                     " and " + typeText(right.dtype, right.dims) +
                     "; they must have one type");
  if (left.dtype == DType::F32)
    return node.emit(op, {a, b});
  TLM_TRY(Dims dims, broadcastDims(left.dims, right.dims));
  Expression e(node, dims);
  return e.emit(apply(scalarOf(op), e.broadcast(a), e.broadcast(b)));
}

Result<ValueId> tlm::emitCast(NodeImporter &node, ValueId x, DType dtype) {
  if (node.value(x).dtype == dtype)
    return x;
  Expression e(node, node.dims(x));
  return e.emit(e.element(x).cast(dtype));
}

ValueId tlm::emitScalar(NodeImporter &node, double number, DType dtype) {
  if (dtype == DType::F32)
    return node.constant({}, {float(number)});
  Tensor tensor = Tensor::make(dtype, {});
  if (dtype == DType::F64)
    std::copy_n(reinterpret_cast<const std::byte *>(&number), sizeof(number),
                tensor.raw());
  else
    return node.constant(dtype, {}, writeInts(dtype, {int64_t(number)}));
  return node.constant(dtype, {}, makeConstant(std::move(tensor)));
}
