#include "graph/GraphBuilder.h"
#include "graph/Passes.h"
#include "graph/Uses.h"
#include "graph/reference/Kernels.h"

#include <algorithm>

using namespace tlm;

void tlm::foldConstants(Graph &graph) {
  Uses uses(graph);
  for (Node &node : graph.nodes) {
    ValueId output = node.outputs[0];
    Value &result = graph.value(output);
    bool constant = std::ranges::all_of(
        node.inputs, [&](ValueId id) { return graph.value(id).isConstant(); });
    // A graph output must be computed by a node: callers get a copy.
    if (!constant || uses.isOutput[size_t(output)] ||
        countOf(result.dims) * int64_t(sizeOf(result.dtype)) >
            kMaxFoldedBytes ||
        reference::costOf(node.op, node.attributes, result.dims) >
            kMaxFoldedCost)
      continue;
    std::vector<TensorView> operands;
    for (ValueId id : node.inputs)
      operands.emplace_back(graph.value(id));
    result.constant = makeConstant(reference::evaluate(
        node.op, node.attributes, operands, result.dims, 1, result.dtype));
    eraseNode(node);
  }
  removeErasedNodes(graph);
}
