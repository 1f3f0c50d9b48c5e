// From one element type to another, quantisation included.

#include "import/ops/Families.h"

#include "base/IntegerArithmetic.h"
#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"

using namespace tlm;

namespace {

bool isComputable(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64 || dtype == DType::Bool ||
         isInteger(dtype);
}

/// Rounded, moved by the zero point and stopped at the ends of the type.
Term quantised(Term value, Term zeroPoint, DType dtype) {
  Term moved = round(value) + zeroPoint;
  return least(most(moved, realFromInteger(dtype, lowestInteger(dtype))),
               realFromInteger(dtype, highestInteger(dtype)))
      .cast(dtype);
}

/// Scale and zero point of an element: one for all, one along an axis, or one
/// a block of that axis.
class QuantisationAxis {
public:
  static Result<QuantisationAxis> read(NodeImporter &node) {
    QuantisationAxis result;
    const Dims &x = node.dims(node.input(0));
    const Dims &scale = node.dims(node.input(1));
    if (node.hasInput(2) && node.dims(node.input(2)) != scale)
      return makeError("scale " + dimsText(scale) + " and zero point " +
                       dimsText(node.dims(node.input(2))) + " differ");
    int64_t block = node.intAttribute("block_size", 0);
    if (countOf(scale) == 1 && block == 0)
      return result;
    TLM_TRY(result.axis, node.normaliseAxis(node.intAttribute("axis", 1),
                                            int64_t(x.size())));
    size_t at = size_t(result.axis);
    Dims expected = {x[at]};
    if (block > 0) {
      result.block = block;
      expected = x;
      expected[at] = (x[at] + block - 1) / block;
    }
    if (scale != expected)
      return makeError("a scale of " + dimsText(scale) + "; " +
                       dimsText(expected) + " is needed");
    return result;
  }

  Term load(Expression &e, NodeImporter &node, ValueId parameter) const {
    std::vector<Term> indices(node.dims(parameter).size(), e.integer(0));
    if (axis >= 0 && block == 0)
      indices = {e.loop(size_t(axis))};
    if (block > 0) {
      indices = e.allLoops();
      indices[size_t(axis)] = indices[size_t(axis)] / double(block);
    }
    return e.load(parameter, indices);
  }

private:
  int64_t axis = -1, block = 0;
};

} // namespace

Status tlm::importCast(NodeImporter &node) {
  ValueId x = node.input(0);
  bool like = node.opType() == "CastLike";
  int64_t to =
      like ? int64_t(node.dtype(node.input(1))) : node.intAttribute("to", 0);
  if (to == int64_t(node.dtype(x)))
    return node.bind(x);
  DType dtype = to > 0 && to < 64 ? DType(to) : DType::Invalid;
  if (!isComputable(dtype))
    return node.unsupported("to ONNX data type " + std::to_string(to));
  if (!isComputable(node.dtype(x)))
    return node.unsupported("from " + std::string(nameOf(node.dtype(x))));
  return node.bind(emitCast(node, x, dtype));
}

Status tlm::importQuantizeLinear(NodeImporter &node) {
  ValueId x = node.input(0);
  DType dtype = DType(node.intAttribute("output_dtype", 0));
  if (dtype == DType::Invalid)
    dtype = node.hasInput(2) ? node.dtype(node.input(2)) : DType::U8;
  if (!isInteger(dtype) || sizeOf(dtype) > 2)
    return node.unsupported("to ONNX data type " + std::to_string(int(dtype)));
  if (node.hasInput(2) && node.dtype(node.input(2)) != dtype)
    return makeError("a zero point of " +
                     std::string(nameOf(node.dtype(node.input(2)))));
  if (node.dtype(x) != node.dtype(node.input(1)) || !isFloat(node.dtype(x)))
    return node.unsupported("an operand and scale that are not one float type");
  TLM_TRY(QuantisationAxis axis, QuantisationAxis::read(node));
  Expression e(node, node.dims(x));
  Term value = e.element(x), scale = axis.load(e, node, node.input(1));
  Term zero = e.number(0, value.dtype());
  if (node.hasInput(2))
    zero = axis.load(e, node, node.input(2)).cast(value.dtype());
  return node.bind(e.emit(quantised(value / scale, zero, dtype)));
}

Status tlm::importDequantizeLinear(NodeImporter &node) {
  ValueId x = node.input(0);
  DType scaleType = node.dtype(node.input(1));
  int64_t asked = node.intAttribute("output_dtype", int64_t(scaleType));
  if (!isInteger(node.dtype(x)) || sizeOf(node.dtype(x)) > 4 ||
      asked != int64_t(scaleType) || !isComputable(scaleType))
    return node.unsupported("from " + std::string(nameOf(node.dtype(x))));
  if (node.hasInput(2) && node.dtype(node.input(2)) != node.dtype(x))
    return makeError("a zero point of another type than the operand");
  TLM_TRY(QuantisationAxis axis, QuantisationAxis::read(node));
  Expression e(node, node.dims(x));
  Term value = e.element(x).cast(DType::I64);
  if (node.hasInput(2))
    value = value - axis.load(e, node, node.input(2)).cast(DType::I64);
  Term scale = axis.load(e, node, node.input(1));
  return node.bind(e.emit(value.cast(scaleType) * scale));
}

/// u8 with a scale and zero point that cover the operand and 0.
Status tlm::importDynamicQuantizeLinear(NodeImporter &node) {
  ValueId x = node.input(0);
  if (node.dtype(x) != DType::F32)
    return node.unsupported("type " + std::string(nameOf(node.dtype(x))));
  const Dims dims = node.dims(x);
  auto extreme = [&](Combine combine) -> Result<ValueId> {
    Expression e(node, {}, dims);
    std::vector<Term> at;
    for (size_t i = 0; i < dims.size(); ++i)
      at.push_back(e.reduction(i));
    Term found = e.reduce(e.load(x, at), combine);
    return e.emit(combine == Combine::Min ? least(found, 0) : most(found, 0));
  };
  TLM_TRY(ValueId low, extreme(Combine::Min));
  TLM_TRY(ValueId high, extreme(Combine::Max));
  Expression scaling(node, {});
  TLM_TRY(ValueId scale,
          scaling.emit((scaling.load(high, {}) - scaling.load(low, {})) / 255));
  Expression zeroing(node, {});
  TLM_TRY(ValueId zero, zeroing.emit(quantised(
                            -zeroing.load(low, {}) / zeroing.load(scale, {}),
                            zeroing.number(0, DType::F32), DType::U8)));
  Expression e(node, dims);
  TLM_TRY(ValueId result,
          e.emit(quantised(e.element(x) / e.load(scale, {}),
                           e.load(zero, {}).cast(DType::F32), DType::U8)));
  TLM_TRY_STATUS(node.bind(result, 0));
  TLM_TRY_STATUS(node.bind(scale, 1));
  return node.bind(zero, 2);
}
