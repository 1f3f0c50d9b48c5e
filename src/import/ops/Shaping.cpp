#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"

#include <algorithm>

using namespace tlm;

Status tlm::importIdentity(NodeImporter &node) {
  return node.bind(node.input(0));
}

/// Inference keeps everything; so does training with a ratio of 0.
Status tlm::importDropout(NodeImporter &node) {
  ValueId x = node.input(0);
  if (node.hasInput(2)) {
    TLM_TRY(double training, node.constantNumber(2));
    double ratio = 0.5;
    if (node.hasInput(1)) {
      TLM_TRY(ratio, node.constantNumber(1));
    }
    if (training != 0 && ratio != 0)
      return node.unsupported("training_mode=1");
  }
  if (node.wantsOutput(1)) {
    Expression e(node, node.dims(x));
    TLM_TRY(ValueId mask, e.emit(e.integer(1, DType::Bool)));
    TLM_TRY_STATUS(node.bind(mask, 1));
  }
  return node.bind(x);
}

Status tlm::importFlatten(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0));
  int64_t rank = int64_t(x.size()), axis = node.intAttribute("axis", 1);
  if (axis < -rank || axis > rank)
    return makeError("axis " + std::to_string(axis) + " is outside [" +
                     std::to_string(-rank) + "," + std::to_string(rank) + "]");
  axis += axis < 0 ? rank : 0;
  Dims outer(x.begin(), x.begin() + axis), inner(x.begin() + axis, x.end());
  return node.bind(
      node.reshape(node.input(0), {countOf(outer), countOf(inner)}));
}

Status tlm::importReshape(NodeImporter &node) {
  const Dims x = node.dims(node.input(0));
  if (!node.value(node.input(1)).isConstant())
    return node.unsupported("a shape that is computed from data");
  TLM_TRY(Dims shape, node.constantInts(1));
  bool zeroIsZero = node.intAttribute("allowzero", 0) != 0;
  const Dims asked = shape;
  int64_t known = 1, free = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zeroIsZero) {
      if (i >= x.size())
        return makeError("shape " + dimsText(asked) + " copies dim " +
                         std::to_string(i) + " of an operand " + dimsText(x));
      shape[i] = x[i];
    }
    if (shape[i] < -1 || (shape[i] == -1 && free >= 0))
      return makeError("shape " + dimsText(asked) +
                       "; one -1 and dims from 0 on are allowed");
    if (shape[i] == -1)
      free = int64_t(i);
  }
  if (free >= 0) {
    shape[size_t(free)] = 1;
    if (zeroIsZero && std::ranges::count(asked, 0) != 0)
      return makeError("shape " + dimsText(asked) +
                       ": -1 beside a 0 has no size with allowzero=1");
    known = checkedCountOf(shape).value_or(0);
    if (known == 0 || countOf(x) % known != 0)
      return makeError("cannot reshape " + dimsText(x) + " (" +
                       std::to_string(countOf(x)) + " elements) to " +
                       dimsText(asked));
    shape[size_t(free)] = countOf(x) / known;
  }
  return node.bind(node.reshape(node.input(0), std::move(shape)));
}

namespace {

/// Axes of Squeeze and Unsqueeze: an attribute up to opset 12, then an input.
Result<std::vector<int64_t>> axesOperand(NodeImporter &node) {
  if (node.hasInput(1))
    return node.constantInts(1);
  return node.intsAttribute("axes", {});
}

} // namespace

Status tlm::importSqueeze(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0));
  bool all = !node.hasInput(1) && !node.hasAttribute("axes");
  TLM_TRY(auto named, axesOperand(node));
  TLM_TRY(auto axes, node.normaliseAxes(std::move(named), int64_t(x.size())));
  Dims dims;
  for (size_t i = 0; i < x.size(); ++i) {
    bool chosen = all ? x[i] == 1 : std::ranges::count(axes, int64_t(i)) != 0;
    if (chosen && x[i] != 1)
      return makeError("cannot squeeze dim " + std::to_string(i) + " of " +
                       dimsText(x));
    if (!chosen)
      dims.push_back(x[i]);
  }
  return node.bind(node.reshape(node.input(0), std::move(dims)));
}

Status tlm::importUnsqueeze(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0));
  TLM_TRY(auto named, axesOperand(node));
  int64_t rank = int64_t(x.size() + named.size());
  TLM_TRY(auto axes, node.normaliseAxes(std::move(named), rank));
  Dims dims;
  for (size_t i = 0, from = 0; i < size_t(rank); ++i)
    dims.push_back(std::ranges::count(axes, int64_t(i)) ? 1 : x[from++]);
  return node.bind(node.reshape(node.input(0), std::move(dims)));
}
