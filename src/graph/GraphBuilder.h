//===- GraphBuilder.h - adds values and nodes to a Graph --------*- C++ -*-===//

#ifndef TLM_GRAPH_GRAPHBUILDER_H
#define TLM_GRAPH_GRAPHBUILDER_H

#include "base/Result.h"
#include "graph/Graph.h"
#include "graph/Tensor.h"

namespace tlm {

/// Bytes a constant computed at compile time may take.
inline constexpr int64_t kMaxFoldedBytes = int64_t(1) << 30;

/// Scalar operations a constant may take to compute; what takes more stays a
/// node.
inline constexpr int64_t kMaxFoldedCost = int64_t(1) << 30;

/// Owned bytes as a Constant; never null, even when empty.
Constant makeConstant(std::vector<float> data);
Constant makeConstant(std::vector<int64_t> data);
Constant makeConstant(Tensor tensor);

/// Appends to a Graph and keeps it well formed: shapes come from inferShape,
/// and an operator whose operands are all constant is computed at once.
class GraphBuilder {
public:
  explicit GraphBuilder(Graph &graph) : graph(graph) {}

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

private:
  Result<ValueId> append(Op op, std::vector<ValueId> inputs,
                         OpAttributes attributes, Dims dims, std::string name,
                         std::string nodeName);

  Graph &graph;
};

} // namespace tlm

#endif // TLM_GRAPH_GRAPHBUILDER_H
