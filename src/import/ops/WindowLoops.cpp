#include "import/ops/WindowLoops.h"

using namespace tlm;

namespace {

Dims kernelsOf(const std::vector<Window> &windows) {
  Dims kernels;
  for (const Window &window : windows)
    kernels.push_back(window.kernel);
  return kernels;
}

} // namespace

Dims WindowLoops::outputDims(const Dims &x,
                             const std::vector<Window> &windows) {
  Dims dims = {x[0], x[1]};
  for (size_t i = 0; i < windows.size(); ++i)
    dims.push_back(windows[i].outputExtent(x[i + 2]));
  return dims;
}

WindowLoops::WindowLoops(NodeImporter &node, const Dims &x,
                         const std::vector<Window> &windows)
    : e(node, outputDims(x, windows), kernelsOf(windows)), x(x),
      windows(windows) {}

Term WindowLoops::position(size_t i) {
  const Window &window = windows[i];
  return e.loop(i + 2) * double(window.stride) +
         e.reduction(i) * double(window.dilation) - double(window.padBegin);
}

Term WindowLoops::isInside() {
  Term result = e.integer(1, DType::Bool);
  for (size_t i = 0; i < windows.size(); ++i)
    result = result & inside(position(i), x[i + 2]);
  return result;
}

Term WindowLoops::load(ValueId operand) {
  std::vector<Term> at = {e.loop(0), e.loop(1)};
  for (size_t i = 0; i < windows.size(); ++i)
    at.push_back(position(i));
  return e.load(operand, at);
}
