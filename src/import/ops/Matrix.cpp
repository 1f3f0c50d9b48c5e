#include "import/ops/Families.h"

#include "base/IntegerArithmetic.h"
#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"
#include "import/ops/Rearrange.h"

using namespace tlm;

namespace {

Result<ValueId> scaled(NodeImporter &node, ValueId x, float factor) {
  if (factor == 1)
    return x;
  return emitBinary(node, Op::Mul, x,
                    emitScalar(node, double(factor), node.dtype(x)));
}

/// a [...,M,K] times b [...,K,N] of any types.
Result<ValueId> multiplyByExpression(NodeImporter &node, ValueId a, ValueId b,
                                     const TermPair &product) {
  std::vector<Dims> operands = {node.dims(a), node.dims(b)};
  TLM_TRY(Dims dims, inferShape(Op::MatMul, operands, {}));
  size_t rank = dims.size();
  Expression e(node, dims, {operands[0].back()});
  auto batch = [&](const Dims &shape) {
    std::vector<Term> at;
    for (size_t i = 0; i + 2 < shape.size(); ++i)
      at.push_back(shape[i] == 1 ? e.integer(0)
                                 : e.loop(rank - shape.size() + i));
    return at;
  };
  std::vector<Term> left = batch(operands[0]), right = batch(operands[1]);
  left.insert(left.end(), {e.loop(rank - 2), e.reduction(0)});
  right.insert(right.end(), {e.reduction(0), e.loop(rank - 1)});
  Term term = product(e.load(a, left), e.load(b, right));
  return e.emit(e.reduce(term, Combine::Sum));
}

} // namespace

Result<ValueId> tlm::emitMatMul(NodeImporter &node, ValueId a, ValueId b,
                                const TermPair &product) {
  bool vectorA = node.rank(a) == 1, vectorB = node.rank(b) == 1;
  if (vectorA) {
    TLM_TRY(a, node.reshape(a, {1, node.dims(a)[0]}));
  }
  if (vectorB) {
    TLM_TRY(b, node.reshape(b, {node.dims(b)[0], 1}));
  }
  bool plain =
      !product && node.dtype(a) == DType::F32 && node.dtype(b) == DType::F32;
  if (!plain && !product && node.dtype(a) != node.dtype(b))
    return makeError("operands of types " + std::string(nameOf(node.dtype(a))) +
                     " and " + std::string(nameOf(node.dtype(b))));
  auto multiply = [](Term x, Term y) { return x * y; };
  TLM_TRY(ValueId result,
          plain
              ? node.emit(Op::MatMul, {a, b})
              : multiplyByExpression(node, a, b, product ? product : multiply));
  Dims dims = node.dims(result);
  if (vectorB)
    dims.pop_back();
  if (vectorA)
    dims.erase(dims.end() - (vectorB ? 1 : 2));
  return node.reshape(result, dims);
}

/// A vector becomes a matrix of one row (left) or column (right), and the dim
/// goes again behind the product.
Status tlm::importMatMul(NodeImporter &node) {
  if (node.dtype(node.input(0)) == DType::Bool)
    return node.unsupported("type bool");
  return node.bind(emitMatMul(node, node.input(0), node.input(1)));
}

/// alpha * A' * B' + beta * C; alpha goes into B when that is constant. With
/// beta = 0 C does not count, whatever it holds.
Status tlm::importGemm(NodeImporter &node) {
  ValueId a = node.input(0), b = node.input(1);
  if (node.rank(a) != 2 || node.rank(b) != 2)
    return makeError("operands " + dimsText(node.dims(a)) + " and " +
                     dimsText(node.dims(b)) + " must be matrices");
  float alpha = node.floatAttribute("alpha", 1.0f);
  float beta = node.floatAttribute("beta", 1.0f);
  if (node.intAttribute("transA", 0) != 0) {
    TLM_TRY(a, emitTranspose(node, a, {1, 0}));
  }
  if (node.intAttribute("transB", 0) != 0) {
    TLM_TRY(b, emitTranspose(node, b, {1, 0}));
  }
  bool scaleB = node.value(b).isConstant();
  if (scaleB) {
    TLM_TRY(b, scaled(node, b, alpha));
  }
  TLM_TRY(ValueId result, emitMatMul(node, a, b));
  if (!scaleB) {
    TLM_TRY(result, scaled(node, result, alpha));
  }
  if (node.hasInput(2) && beta != 0) {
    Dims dims = node.dims(result);
    TLM_TRY(ValueId c, scaled(node, node.input(2), beta));
    TLM_TRY(Dims sum, broadcastDims(dims, node.dims(c)));
    if (sum != dims)
      return makeError("C " + dimsText(node.dims(c)) +
                       " does not broadcast to " + dimsText(dims));
    TLM_TRY(result, emitBinary(node, Op::Add, result, c));
  }
  return node.bind(result);
}

namespace {

/// x - zero as i32. The zero point is one for all, or one a row of the left or
/// column of the right operand.
Result<ValueId> centred(NodeImporter &node, ValueId x, size_t zeroPoint,
                        bool left) {
  Expression e(node, node.dims(x));
  Term value = e.element(x).cast(DType::I32);
  if (!node.hasInput(zeroPoint))
    return e.emit(value);
  ValueId zero = node.input(zeroPoint);
  const Dims dims = node.dims(zero), operand = node.dims(x);
  std::vector<Term> at(dims.size(), e.integer(0));
  if (countOf(dims) != 1) {
    Dims allowed = operand;
    if (operand.size() >= 2)
      allowed[operand.size() - (left ? 1 : 2)] = 1;
    size_t axis = operand.size() - (left && operand.size() > 1 ? 2 : 1);
    if (dims.size() == 1 && dims[0] == operand[axis])
      at = {e.loop(axis)};
    else if (dims == allowed)
      for (size_t i = 0; i < dims.size(); ++i)
        at[i] = dims[i] == 1 ? e.integer(0) : e.loop(i);
    else
      return makeError("a zero point of " + dimsText(dims) +
                       " for an operand " + dimsText(operand));
  }
  return e.emit(value - e.load(zero, at).cast(DType::I32));
}

Status checkBytes(NodeImporter &node, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (!isInteger(node.dtype(node.input(i))) ||
        sizeOf(node.dtype(node.input(i))) != 1)
      return node.unsupported("type " +
                              std::string(nameOf(node.dtype(node.input(i)))));
  return success();
}

} // namespace

/// i32 sums, exact.
Status tlm::importMatMulInteger(NodeImporter &node) {
  TLM_TRY_STATUS(checkBytes(node, {0, 1}));
  TLM_TRY(ValueId a, centred(node, node.input(0), 2, true));
  TLM_TRY(ValueId b, centred(node, node.input(1), 3, false));
  return node.bind(emitMatMul(node, a, b));
}

/// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero; one scale each.
Status tlm::importQLinearMatMul(NodeImporter &node) {
  TLM_TRY_STATUS(checkBytes(node, {0, 3, 7}));
  TLM_TRY(ValueId a, centred(node, node.input(0), 2, true));
  TLM_TRY(ValueId b, centred(node, node.input(3), 5, false));
  TLM_TRY(ValueId sums, emitMatMul(node, a, b));
  Expression e(node, node.dims(sums));
  auto parameter = [&](size_t i) -> Result<Term> {
    ValueId id = node.input(i);
    if (countOf(node.dims(id)) != 1)
      return node.unsupported("scales per row or column");
    return e.load(id, std::vector<Term>(node.dims(id).size(), e.integer(0)))
        .cast(DType::F64);
  };
  TLM_TRY(Term scaleA, parameter(1));
  TLM_TRY(Term scaleB, parameter(4));
  TLM_TRY(Term scaleY, parameter(6));
  TLM_TRY(Term zero, parameter(7));
  DType dtype = node.dtype(node.input(7));
  Term value = e.element(sums).cast(DType::F64) * (scaleA * scaleB / scaleY);
  Term moved = round(value) + zero;
  moved = least(most(moved, double(lowestInteger(dtype))),
                double(highestInteger(dtype)));
  return node.bind(e.emit(moved.cast(dtype)));
}
