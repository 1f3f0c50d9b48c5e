//===- AsComputation.h - operators as scalar expressions --------*- C++ -*-===//

#ifndef TLM_GRAPH_ASCOMPUTATION_H
#define TLM_GRAPH_ASCOMPUTATION_H

#include "graph/Graph.h"

#include <optional>

namespace tlm {

/// What the node computes, as an expression over its inputs in their order:
/// the slow but general form of every operator that has one. Nothing for
/// operators that need two reductions (Softmax, the norms, Attention), and for
/// Reshape, which is no computation.
std::optional<Computation> asComputation(const Graph &graph, const Node &node);

} // namespace tlm

#endif // TLM_GRAPH_ASCOMPUTATION_H
