#include "graph/Uses.h"

#include <algorithm>

using namespace tlm;

Uses::Uses(const Graph &graph)
    : producer(graph.values.size(), -1), count(graph.values.size(), 0),
      isOutput(graph.values.size(), false) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].outputs)
      producer[size_t(id)] = int32_t(i);
    if (graph.nodes[i].outputs.empty())
      continue;
    for (ValueId id : graph.nodes[i].inputs)
      ++count[size_t(id)];
  }
  for (ValueId id : graph.outputs) {
    ++count[size_t(id)];
    isOutput[size_t(id)] = true;
  }
}

void tlm::removeErasedNodes(Graph &graph) {
  std::erase_if(graph.nodes,
                [](const Node &node) { return node.outputs.empty(); });
}

void tlm::replaceReads(Graph &graph, const std::vector<ValueId> &replacement) {
  auto final = [&](ValueId id) {
    while (replacement[size_t(id)] != id)
      id = replacement[size_t(id)];
    return id;
  };
  for (Node &node : graph.nodes)
    for (ValueId &id : node.inputs)
      id = final(id);
}
