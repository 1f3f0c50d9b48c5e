#include "import/ops/Families.h"
#include "import/ops/WindowAttributes.h"

#include "graph/ShapeRule.h"

using namespace tlm;

Status tlm::importConv(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0)), &w = node.dims(node.input(1));
  if (w.size() < 3)
    return makeError("weights " + dimsText(w) + "; [F,C/group,...] is needed");
  Dims kernel(w.begin() + 2, w.end());
  if (node.intsAttribute("kernel_shape", kernel) != kernel)
    return makeError("kernel_shape differs from the weights " + dimsText(w));
  ConvAttributes attributes;
  attributes.groups = node.intAttribute("group", 1);
  TLM_TRY(attributes.windows, readWindows(node, x, kernel));
  std::vector<ValueId> operands = {node.input(0), node.input(1)};
  if (node.hasInput(2))
    operands.push_back(node.input(2));
  return node.bind(node.emit(Op::Conv, std::move(operands), attributes));
}
