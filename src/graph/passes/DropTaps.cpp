// Taps of a window that never meet the image, only its padding, go: a dilation
// as large as the image leaves one row and column of a 3x3 filter.

#include "graph/GraphBuilder.h"
#include "graph/Passes.h"

#include <utility>

using namespace tlm;

namespace {

/// First tap and count of those that read some of `extent` pixels.
std::pair<int64_t, int64_t> usedTaps(const Window &window, int64_t extent,
                                     int64_t outputs) {
  int64_t first = window.kernel, last = -1;
  for (int64_t tap = 0; tap < window.kernel; ++tap) {
    int64_t start = tap * window.dilation - window.padBegin;
    // The first output whose pixel is not before the image.
    int64_t output =
        start >= 0 ? 0 : (-start + window.stride - 1) / window.stride;
    if (output >= outputs || start + output * window.stride >= extent)
      continue;
    first = std::min(first, tap);
    last = tap;
  }
  return {first, last - first + 1};
}

/// The same window without the other taps; false: its pads would be negative.
bool narrow(Window &window, int64_t first, int64_t count) {
  Window result = window;
  result.padBegin -= first * window.dilation;
  result.padEnd -= (window.kernel - first - count) * window.dilation;
  result.kernel = count;
  if (count == 1)
    result.dilation = 1;
  if (count < 1 || result.padBegin < 0 || result.padEnd < 0)
    return false;
  window = result;
  return true;
}

/// weights[..., first[i] : first[i] + dims[i + 2], ...]
ValueId slice(Graph &graph, ValueId id, const Dims &dims, const Dims &first) {
  const Value &weights = graph.value(id);
  const float *source = weights.constant.as<float>();
  std::vector<float> part;
  part.reserve(size_t(countOf(dims)));
  Dims at(dims.size(), 0);
  for (int64_t left = countOf(dims); left > 0; --left) {
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      offset = offset * weights.dims[d] + at[d] + first[d];
    part.push_back(source[offset]);
    for (size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];)
      at[d] = 0;
  }
  std::string name = weights.name + "#taps";
  return GraphBuilder(graph).addConstant(std::move(name), dims,
                                         std::move(part));
}

} // namespace

void tlm::dropTaps(Graph &graph) {
  for (Node &node : graph.nodes) {
    if (node.op != Op::Conv)
      continue;
    const Value &weights = graph.value(node.inputs[1]);
    if (!weights.isConstant() || weights.dtype != DType::F32)
      continue;
    auto conv = std::get<ConvAttributes>(node.attributes);
    const Dims &in = graph.value(node.inputs[0]).dims;
    const Dims &out = graph.value(node.outputs[0]).dims;
    Dims dims = weights.dims, begin(dims.size(), 0);
    for (size_t i = 0; i < conv.windows.size(); ++i) {
      auto [first, count] = usedTaps(conv.windows[i], in[i + 2], out[i + 2]);
      if (count == conv.windows[i].kernel ||
          !narrow(conv.windows[i], first, count))
        continue;
      dims[i + 2] = count;
      begin[i + 2] = first;
    }
    if (dims == weights.dims)
      continue;
    node.inputs[1] = slice(graph, node.inputs[1], dims, begin);
    node.attributes = std::move(conv);
  }
}
