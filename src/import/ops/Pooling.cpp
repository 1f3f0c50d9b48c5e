#include "import/ops/Families.h"
#include "import/ops/WindowAttributes.h"

#include "graph/ShapeRule.h"

using namespace tlm;

namespace {

Result<PoolAttributes> readPool(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0));
  PoolAttributes attributes;
  auto kernel = node.intsAttribute("kernel_shape", {});
  if (kernel.empty())
    return makeError("kernel_shape is missing");
  TLM_TRY(attributes.windows, readWindows(node, x, kernel));
  attributes.ceilPad.assign(kernel.size(), 0);
  // SAME_* fixes the output's extent; ceil mode adds nothing to it.
  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (node.intAttribute("ceil_mode", 0) != 0 && !same)
    for (size_t i = 0; i < kernel.size(); ++i)
      attributes.ceilPad[i] = padForCeil(attributes.windows[i], x[i + 2]);
  return attributes;
}

/// The axes behind [N,C].
Result<std::vector<int64_t>> spatialAxes(NodeImporter &node) {
  int64_t rank = node.rank(node.input(0));
  if (rank < 3)
    return makeError("input " + dimsText(node.dims(node.input(0))) +
                     " has no spatial dims behind [N,C]");
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

} // namespace

Status tlm::importMaxPool(NodeImporter &node) {
  TLM_TRY(PoolAttributes attributes, readPool(node));
  return node.bind(node.emit(Op::MaxPool, {node.input(0)}, attributes));
}

Status tlm::importAveragePool(NodeImporter &node) {
  TLM_TRY(PoolAttributes attributes, readPool(node));
  attributes.countIncludePad = node.intAttribute("count_include_pad", 0) != 0;
  return node.bind(node.emit(Op::AveragePool, {node.input(0)}, attributes));
}

Status tlm::importGlobalAveragePool(NodeImporter &node) {
  TLM_TRY(auto axes, spatialAxes(node));
  return node.bind(
      node.emit(Op::ReduceMean, {node.input(0)}, AxesAttributes{axes}));
}

Status tlm::importGlobalMaxPool(NodeImporter &node) {
  TLM_TRY(auto axes, spatialAxes(node));
  const Dims &x = node.dims(node.input(0));
  if (axes.size() > 2)
    return node.unsupported(std::to_string(axes.size()) + " spatial dims");
  PoolAttributes attributes;
  attributes.ceilPad.assign(axes.size(), 0);
  for (int64_t axis : axes)
    attributes.windows.push_back({x[size_t(axis)], 1, 1, 0, 0});
  return node.bind(node.emit(Op::MaxPool, {node.input(0)}, attributes));
}
