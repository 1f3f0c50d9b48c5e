#include "import/ops/Families.h"

#include "graph/ShapeRule.h"

using namespace tlm;

namespace {

Result<ValueId> transposed(NodeImporter &node, ValueId matrix) {
  return node.emit(Op::Transpose, {matrix}, AxesAttributes{{1, 0}});
}

Result<ValueId> scaled(NodeImporter &node, ValueId x, float factor) {
  if (factor == 1)
    return x;
  return node.emit(Op::Mul, {x, node.constant({}, {factor})});
}

} // namespace

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
    TLM_TRY(a, transposed(node, a));
  }
  if (node.intAttribute("transB", 0) != 0) {
    TLM_TRY(b, transposed(node, b));
  }
  bool scaleB = node.value(b).isConstant();
  if (scaleB) {
    TLM_TRY(b, scaled(node, b, alpha));
  }
  TLM_TRY(ValueId result, node.emit(Op::MatMul, {a, b}));
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
    TLM_TRY(result, node.emit(Op::Add, {result, c}));
  }
  return node.bind(result);
}

/// A vector becomes a matrix of one row (left) or column (right), and the dim
/// goes again behind the product.
Status tlm::importMatMul(NodeImporter &node) {
  ValueId a = node.input(0), b = node.input(1);
  bool vectorA = node.rank(a) == 1, vectorB = node.rank(b) == 1;
  if (vectorA) {
    TLM_TRY(a, node.reshape(a, {1, node.dims(a)[0]}));
  }
  if (vectorB) {
    TLM_TRY(b, node.reshape(b, {node.dims(b)[0], 1}));
  }
  TLM_TRY(ValueId result, node.emit(Op::MatMul, {a, b}));
  Dims dims = node.dims(result);
  if (vectorB)
    dims.pop_back();
  if (vectorA)
    dims.erase(dims.end() - (vectorB ? 1 : 2));
  if (vectorA || vectorB) {
    TLM_TRY(result, node.reshape(result, dims));
  }
  return node.bind(result);
}
