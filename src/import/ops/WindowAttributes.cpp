#include "import/ops/WindowAttributes.h"

#include "graph/ShapeRule.h"

#include <algorithm>

using namespace tlm;

void tlm::padSame(Window &window, int64_t extent, bool oddAtEnd) {
  int64_t count = (extent + window.stride - 1) / window.stride;
  int64_t reach = window.dilation * (window.kernel - 1) + 1;
  int64_t total =
      std::max<int64_t>(0, (count - 1) * window.stride + reach - extent);
  int64_t small = total / 2, large = total - small;
  window.padBegin = oddAtEnd ? small : large;
  window.padEnd = oddAtEnd ? large : small;
}

int64_t tlm::padForCeil(Window &window, int64_t extent) {
  int64_t reach = window.dilation * (window.kernel - 1) + 1;
  int64_t padded = extent + window.padBegin + window.padEnd;
  if (padded < reach)
    return 0; // no window fits: inferShape says so
  int64_t count = (padded - reach + window.stride - 1) / window.stride + 1;
  if ((count - 1) * window.stride >= extent + window.padBegin)
    --count;
  int64_t overhang =
      std::max<int64_t>(0, (count - 1) * window.stride + reach - padded);
  window.padEnd += overhang;
  return overhang;
}

Result<std::vector<Window>>
tlm::readWindows(NodeImporter &node, const Dims &x,
                 const std::vector<int64_t> &kernel) {
  size_t spatial = kernel.size();
  if (x.size() != spatial + 2)
    return makeError("kernel of " + std::to_string(spatial) +
                     " dims on an input " + dimsText(x));
  if (spatial < 1 || spatial > 8)
    return node.unsupported(std::to_string(spatial) + " spatial dims");
  auto strides = node.intsAttribute("strides", Dims(spatial, 1));
  auto dilations = node.intsAttribute("dilations", Dims(spatial, 1));
  auto pads = node.intsAttribute("pads", Dims(2 * spatial, 0));
  if (strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial)
    return makeError("strides, dilations and pads must have " +
                     std::to_string(spatial) + ", " + std::to_string(spatial) +
                     " and " + std::to_string(2 * spatial) + " entries");

  std::vector<Window> windows(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    Window &w = windows[i];
    w = {kernel[i], strides[i], dilations[i], pads[i], pads[spatial + i]};
    for (int64_t atLeastOne : {w.kernel, w.stride, w.dilation})
      if (atLeastOne < 1 || atLeastOne > kMaxWindow)
        return makeError("kernel, strides and dilations must be 1.." +
                         std::to_string(kMaxWindow) + ", found " +
                         std::to_string(atLeastOne));
    for (int64_t pad : {w.padBegin, w.padEnd})
      if (pad < 0 || pad > kMaxWindow)
        return makeError("pads must be 0.." + std::to_string(kMaxWindow) +
                         ", found " + std::to_string(pad));
  }

  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty())
    return windows;
  if (mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    return makeError("auto_pad '" + mode +
                     "'; NOTSET, VALID, SAME_UPPER and SAME_LOWER are allowed");
  for (size_t i = 0; i < spatial; ++i) {
    windows[i].padBegin = windows[i].padEnd = 0;
    if (mode != "VALID")
      padSame(windows[i], x[i + 2], mode == "SAME_UPPER");
  }
  return windows;
}
