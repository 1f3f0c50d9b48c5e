//===- GraphBuilder.h - adds values and nodes to a Graph --------*- C++ -*-===//

#ifndef TLM_GRAPH_GRAPHBUILDER_H
#define TLM_GRAPH_GRAPHBUILDER_H

#include "base/Result.h"
#include "graph/Graph.h"
#include "graph/Tensor.h"

namespace tlm {

/// Bytes a constant computed at compile time may take.
inline constexpr int64_t kMaxFoldedBytes = int64_t(8) << 30;

/// What constants may still take to compute, all together: time in about
/// nanoseconds, and memory. What would take more stays a node.
struct FoldBudget {
  int64_t cost = int64_t(1) << 28;
  int64_t bytes = int64_t(256) << 20;

  /// What a graph with this much in weights may take: weights are turned and
  /// scaled, so they bring a share of their own.
  static FoldBudget forWeights(int64_t weightBytes);

  /// Takes a share of both, when there is enough.
  bool take(int64_t shareOfCost, int64_t shareOfBytes);
};

/// Owned bytes as a Constant; never null, even when empty.
Constant makeConstant(std::vector<float> data);
Constant makeConstant(std::vector<int64_t> data);
Constant makeConstant(Tensor tensor);

/// Appends to a Graph and keeps it well formed: shapes come from inferShape,
/// and an operator whose operands are all constant is computed at once.
class GraphBuilder {
public:
  /// Without a budget every constant may take kMaxFoldedBytes.
  explicit GraphBuilder(Graph &graph, FoldBudget *budget = nullptr)
      : graph(graph), budget(budget) {}

  /// A graph input.
  ValueId addInput(std::string name, DType dtype, Dims dims);
  ValueId addConstant(std::string name, DType dtype, Dims dims,
                      Constant constant);
  ValueId addConstant(std::string name, Dims dims, std::vector<float> data);

  /// Appends op(inputs) and returns its result, which gets `name`; the node is
  /// called `nodeName`. Errors are inferShape's.
  Result<ValueId> add(Op op, std::vector<ValueId> inputs,
                      OpAttributes attributes, std::string name,
                      std::string nodeName);
  /// The same for Reshape, whose dims are free but for their count.
  Result<ValueId> addReshape(ValueId input, Dims dims, std::string name,
                             std::string nodeName);

  /// Takes a share of the budget for constants that the caller computes.
  bool take(int64_t cost, int64_t bytes) const {
    return !budget || budget->take(cost, bytes);
  }

private:
  Result<ValueId> append(Op op, std::vector<ValueId> inputs,
                         OpAttributes attributes, Dims dims, std::string name,
                         std::string nodeName);

  Graph &graph;
  FoldBudget *budget;
};

} // namespace tlm

#endif // TLM_GRAPH_GRAPHBUILDER_H
