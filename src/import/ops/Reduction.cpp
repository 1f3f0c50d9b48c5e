#include "import/ops/Families.h"

#include "graph/ShapeRule.h"

using namespace tlm;

/// Axes: an attribute up to opset 17, an input from 18 on. None: all of them,
/// unless noop_with_empty_axes.
Status tlm::importReduceMean(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  std::vector<int64_t> axes = node.intsAttribute("axes", {});
  if (node.hasInput(1)) {
    TLM_TRY(axes, node.constantInts(1));
  }
  if (axes.empty()) {
    if (node.intAttribute("noop_with_empty_axes", 0) != 0)
      return node.bind(x);
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(axis);
  }
  TLM_TRY(axes, node.normaliseAxes(std::move(axes), rank));
  TLM_TRY(ValueId mean, node.emit(Op::ReduceMean, {x}, AxesAttributes{axes}));
  if (node.intAttribute("keepdims", 1) == 0) {
    std::vector<bool> reduced(size_t(rank), false);
    for (int64_t axis : axes)
      reduced[size_t(axis)] = true;
    Dims dims;
    for (size_t i = 0; i < size_t(rank); ++i)
      if (!reduced[i])
        dims.push_back(node.dims(x)[i]);
    TLM_TRY(mean, node.reshape(mean, dims));
  }
  return node.bind(mean);
}

/// Up to opset 12 the operand is flattened to two dims at the axis; from 13 on
/// softmax runs along the axis alone. Where the dims behind the axis are all 1
/// the two agree; either way the softmax is along a last dim if it can be.
Status tlm::importSoftmax(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  int64_t rank = node.rank(x);
  bool flattens = node.opset() < 13;
  TLM_TRY(
      int64_t axis,
      node.normaliseAxis(node.intAttribute("axis", flattens ? 1 : -1), rank));
  Dims lead(dims.begin(), dims.begin() + axis);
  Dims behind(dims.begin() + axis, dims.end());
  Dims innermost(behind.begin() + 1, behind.end());
  if (axis == rank - 1 || (!flattens && countOf(innermost) != 1))
    return node.bind(node.emit(Op::Softmax, {x}, AxesAttributes{{axis}}));
  TLM_TRY(ValueId flat, node.reshape(x, {countOf(lead), countOf(behind)}));
  TLM_TRY(ValueId result, node.emit(Op::Softmax, {flat}, AxesAttributes{{1}}));
  return node.bind(node.reshape(result, dims));
}
