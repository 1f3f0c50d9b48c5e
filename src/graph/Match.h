//===- Match.h - what passes ask about a value's maker ----------*- C++ -*-===//

#ifndef TLM_GRAPH_MATCH_H
#define TLM_GRAPH_MATCH_H

#include "graph/Uses.h"

#include <optional>
#include <vector>

namespace tlm {

/// Looks up from values to the nodes that make them. A snapshot, as Uses is.
class Match {
public:
  explicit Match(const Graph &graph) : uses(graph), graph(graph) {}

  /// The node that makes `id`, if its operator is `op`; else nullptr.
  const Node *maker(ValueId id, Op op) const;
  /// The same, when nothing but its reader sees the value.
  const Node *innerMaker(ValueId id, Op op) const;
  /// The one number of a constant f32 operand of one element.
  std::optional<float> scalar(ValueId id) const;
  bool isScalar(ValueId id, float expected) const;

  /// A product written as any tree of Mul, Div by a number, and numbers.
  struct Product {
    float scale = 1;
    std::vector<ValueId> factors;
  };
  Product product(ValueId id) const;

  const Dims &dims(ValueId id) const { return graph.value(id).dims; }

  Uses uses;

private:
  void multiply(ValueId id, Product &product, int depth) const;

  const Graph &graph;
};

} // namespace tlm

#endif // TLM_GRAPH_MATCH_H
