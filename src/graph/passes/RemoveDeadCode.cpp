#include "graph/Passes.h"
#include "graph/Uses.h"

using namespace tlm;

void tlm::removeDeadCode(Graph &graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId id : graph.outputs)
    needed[size_t(id)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node &node = graph.nodes[i];
    if (!needed[size_t(node.outputs[0])]) {
      eraseNode(node);
      continue;
    }
    for (ValueId id : node.inputs)
      needed[size_t(id)] = true;
  }
  removeErasedNodes(graph);

  for (ValueId id : graph.inputs) // part of the signature, used or not
    needed[size_t(id)] = true;
  std::vector<ValueId> renumbered(graph.values.size(), kNoValue);
  std::vector<Value> kept;
  for (size_t id = 0; id < graph.values.size(); ++id)
    if (needed[id]) {
      renumbered[id] = ValueId(kept.size());
      kept.push_back(std::move(graph.values[id]));
    }
  graph.values = std::move(kept);
  auto renumber = [&](std::vector<ValueId> &ids) {
    for (ValueId &id : ids)
      id = renumbered[size_t(id)];
  };
  renumber(graph.inputs);
  renumber(graph.outputs);
  for (Node &node : graph.nodes) {
    renumber(node.inputs);
    renumber(node.outputs);
  }
}
