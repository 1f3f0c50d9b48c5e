//===- Uses.h - who makes and who reads each value --------------*- C++ -*-===//

#ifndef TLM_GRAPH_USES_H
#define TLM_GRAPH_USES_H

#include "graph/Graph.h"

namespace tlm {

/// A snapshot: passes that rewrite keep it up to date by hand or take a new
/// one.
struct Uses {
  explicit Uses(const Graph &graph);

  /// Index of the node that yields a value; -1 for inputs and constants.
  std::vector<int32_t> producer;
  /// Reads by nodes; an output of the graph counts as one more.
  std::vector<int32_t> count;
  std::vector<bool> isOutput;

  /// Whether nothing but one read by one node sees the value.
  bool isInner(ValueId id) const {
    return count[size_t(id)] == 1 && !isOutput[size_t(id)];
  }
};

/// A node that is going away: it has no outputs. removeErasedNodes drops them.
inline void eraseNode(Node &node) { node.outputs.clear(); }
void removeErasedNodes(Graph &graph);

/// Makes every read of values[i] a read of replacement[i] (values that stay
/// have their own id there). Does not touch the graph's inputs and outputs.
void replaceReads(Graph &graph, const std::vector<ValueId> &replacement);

} // namespace tlm

#endif // TLM_GRAPH_USES_H
