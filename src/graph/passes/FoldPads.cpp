#include "graph/Passes.h"
#include "graph/ShapeRule.h"
#include "graph/Uses.h"

#include <algorithm>

using namespace tlm;

namespace {

/// Whether the pads only add, and only to spatial dims.
bool isSpatial(const PadAttributes &pads) {
  for (size_t i = 0; i < pads.begin.size(); ++i) {
    if (pads.begin[i] < 0 || pads.end[i] < 0)
      return false;
    if (i < 2 && (pads.begin[i] || pads.end[i]))
      return false;
  }
  return true;
}

void widen(std::vector<Window> &windows, const PadAttributes &pads) {
  for (size_t i = 0; i < windows.size(); ++i) {
    windows[i].padBegin += pads.begin[i + 2];
    windows[i].padEnd += pads.end[i + 2];
  }
}

/// A pool that already pads, or overhangs, divides differently.
bool hasPadding(const PoolAttributes &pool) {
  return std::ranges::any_of(pool.windows, [](const Window &w) {
    return w.padBegin != 0 || w.padEnd != 0;
  });
}

} // namespace

void tlm::foldPads(Graph &graph) {
  Uses uses(graph);
  for (Node &node : graph.nodes) {
    if (node.op != Op::Conv && node.op != Op::AveragePool)
      continue;
    int32_t maker = uses.producer[size_t(node.inputs[0])];
    if (maker < 0 || graph.nodes[size_t(maker)].op != Op::Pad)
      continue;
    const Node &padding = graph.nodes[size_t(maker)];
    const auto &pads = std::get<PadAttributes>(padding.attributes);
    if (pads.value != 0 || !isSpatial(pads))
      continue;

    OpAttributes attributes = node.attributes;
    if (auto *conv = std::get_if<ConvAttributes>(&attributes)) {
      widen(conv->windows, pads);
    } else {
      auto &pool = std::get<PoolAttributes>(attributes);
      if (hasPadding(pool))
        continue;
      widen(pool.windows, pads);
      pool.countIncludePad = true;
    }
    // A pool whose windows would miss the input keeps its Pad.
    std::vector<Dims> dims;
    for (ValueId id : node.inputs)
      dims.push_back(graph.value(id).dims);
    dims[0] = graph.value(padding.inputs[0]).dims;
    Result<Dims> result = inferShape(node.op, dims, attributes);
    if (!result || *result != graph.value(node.outputs[0]).dims)
      continue;
    node.attributes = std::move(attributes);
    node.inputs[0] = padding.inputs[0];
  }
}
