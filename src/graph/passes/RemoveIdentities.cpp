#include "graph/Passes.h"
#include "graph/Uses.h"

#include <algorithm>
#include <numeric>

using namespace tlm;

namespace {

bool isIdentity(const Graph &graph, const Node &node) {
  if (graph.value(node.inputs[0]).dims != graph.value(node.outputs[0]).dims)
    return false;
  switch (node.op) {
  case Op::Reshape:
    return true;
  case Op::Concat:
    return node.inputs.size() == 1;
  case Op::Transpose: {
    auto &axes = std::get<AxesAttributes>(node.attributes).axes;
    return std::ranges::is_sorted(axes);
  }
  case Op::Pad: {
    auto &pads = std::get<PadAttributes>(node.attributes);
    return std::ranges::count(pads.begin, 0) == int64_t(pads.begin.size()) &&
           std::ranges::count(pads.end, 0) == int64_t(pads.end.size());
  }
  default:
    return false;
  }
}

} // namespace

void tlm::removeIdentities(Graph &graph) {
  Uses uses(graph);
  std::vector<ValueId> replacement(graph.values.size());
  std::iota(replacement.begin(), replacement.end(), 0);
  for (Node &node : graph.nodes) {
    for (ValueId &id : node.inputs)
      id = replacement[size_t(id)];
    ValueId input = node.inputs[0], output = node.outputs[0];

    // Reshape of Reshape reads what the first one reads.
    int32_t maker = uses.producer[size_t(input)];
    if (node.op == Op::Reshape && maker >= 0 &&
        graph.nodes[size_t(maker)].op == Op::Reshape)
      node.inputs[0] = input = graph.nodes[size_t(maker)].inputs[0];

    // The copy that gives an output its own name and memory stays.
    if (isIdentity(graph, node) && !uses.isOutput[size_t(output)]) {
      replacement[size_t(output)] = input;
      eraseNode(node);
    }
  }
  removeErasedNodes(graph);
}
