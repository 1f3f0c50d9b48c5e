#include "graph/GraphBuilder.h"
#include "graph/Passes.h"
#include "graph/Uses.h"
#include "graph/reference/Kernels.h"

#include <algorithm>

using namespace tlm;

void tlm::foldConstants(Graph &graph) {
  Uses uses(graph);
  int64_t weightBytes = 0;
  for (const Value &value : graph.values)
    weightBytes += int64_t(value.constant.sizeBytes);
  FoldBudget budget = FoldBudget::forWeights(weightBytes);
  for (Node &node : graph.nodes) {
    ValueId output = node.outputs[0];
    Value &result = graph.value(output);
    bool constant = std::ranges::all_of(
        node.inputs, [&](ValueId id) { return graph.value(id).isConstant(); });
    // A graph output must be computed by a node: callers get a copy.
    if (!constant || uses.isOutput[size_t(output)])
      continue;
    std::vector<TensorView> operands;
    std::vector<Dims> shapes;
    for (ValueId id : node.inputs) {
      operands.emplace_back(graph.value(id));
      shapes.push_back(graph.value(id).dims);
    }
    int64_t sizeBytes = countOf(result.dims) * int64_t(sizeOf(result.dtype));
    if (sizeBytes > kMaxFoldedBytes ||
        !budget.take(
            reference::costOf(node.op, node.attributes, shapes, result.dims),
            sizeBytes))
      continue;
    result.constant = makeConstant(reference::evaluate(
        node.op, node.attributes, operands, result.dims, 1, result.dtype));
    eraseNode(node);
  }
  removeErasedNodes(graph);
}
