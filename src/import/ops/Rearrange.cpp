#include "import/ops/Rearrange.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"

#include <algorithm>

using namespace tlm;

/// A slice of step 1 is a Pad that crops.
Result<ValueId> tlm::emitSlice(NodeImporter &node, ValueId x,
                               const std::vector<AxisRange> &ranges) {
  const Value &value = node.value(x);
  Dims dims;
  PadAttributes crop;
  bool contiguous = true, whole = true;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const AxisRange &range = ranges[i];
    dims.push_back(range.count);
    contiguous = contiguous && (range.step == 1 || range.count <= 1);
    int64_t begin = range.count == 0 ? 0 : range.first;
    crop.begin.push_back(-begin);
    crop.end.push_back(begin + range.count - value.dims[i]);
    whole = whole && begin == 0 && range.count == value.dims[i];
  }
  if (whole && contiguous)
    return x;
  if (contiguous && value.dtype == DType::F32)
    return node.emit(Op::Pad, {x}, std::move(crop));
  Expression e(node, dims);
  std::vector<Term> indices;
  for (size_t i = 0; i < dims.size(); ++i) // a lone element may have any step
    indices.push_back(dims[i] > 1 ? e.loop(i) * double(ranges[i].step) +
                                        double(ranges[i].first)
                                  : e.integer(ranges[i].first));
  return e.emit(e.load(x, indices));
}

Result<ValueId> tlm::emitSlice(NodeImporter &node, ValueId x, size_t axis,
                               int64_t first, int64_t count) {
  std::vector<AxisRange> ranges;
  for (int64_t extent : node.dims(x))
    ranges.push_back({0, 1, extent});
  ranges[axis] = {first, 1, count};
  return emitSlice(node, x, ranges);
}

Result<ValueId> tlm::emitTranspose(NodeImporter &node, ValueId x,
                                   std::vector<int64_t> order) {
  std::vector<Dims> operand = {node.dims(x)};
  TLM_TRY(Dims dims, inferShape(Op::Transpose, operand, AxesAttributes{order}));
  if (std::ranges::is_sorted(order))
    return x;
  if (node.dtype(x) == DType::F32)
    return node.emit(Op::Transpose, {x}, AxesAttributes{std::move(order)});
  Expression e(node, dims);
  std::vector<Term> indices(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    indices[size_t(order[i])] = e.loop(i);
  return e.emit(e.load(x, indices));
}

Result<ValueId> tlm::emitConcat(NodeImporter &node,
                                const std::vector<ValueId> &operands,
                                int64_t axis) {
  DType dtype = node.dtype(operands[0]);
  std::vector<Dims> shapes;
  for (ValueId id : operands) {
    if (node.dtype(id) != dtype)
      return makeError("operands of types " + std::string(nameOf(dtype)) +
                       " and " + std::string(nameOf(node.dtype(id))));
    shapes.push_back(node.dims(id));
  }
  if (operands.size() == 1)
    return operands[0];
  if (dtype == DType::F32)
    return node.emit(Op::Concat, operands, AxesAttributes{{axis}});
  TLM_TRY(Dims dims, inferShape(Op::Concat, shapes, AxesAttributes{{axis}}));
  // The last operand, unless the index lies before its first element ...
  Expression e(node, dims);
  size_t at = size_t(axis);
  int64_t first = dims[at];
  Term value, along = e.loop(at);
  for (size_t i = operands.size(); i-- > 0;) {
    int64_t end = first;
    first -= shapes[i][at];
    std::vector<Term> indices = e.allLoops();
    indices[at] = along - double(first);
    Term mine = e.load(operands[i], indices);
    value = i + 1 == operands.size() ? mine
                                     : select(along < double(end), mine, value);
  }
  return e.emit(value);
}

Result<ValueId> tlm::emitExpand(NodeImporter &node, ValueId x,
                                const Dims &dims) {
  if (node.dims(x) == dims)
    return x;
  Expression e(node, dims);
  return e.emit(e.broadcast(x));
}
