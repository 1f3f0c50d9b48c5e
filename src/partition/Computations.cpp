//===- Computations.cpp ---------------------------------------------------===//

#include "partition/Computations.h"

#include "graph/AsComputation.h"

#include <algorithm>
#include <numeric>

namespace tlm {

static Group groupOf(const Node &node, TaskKind kind) {
  Group group;
  group.kind = kind;
  group.name = node.name;
  group.inputs = node.inputs;
  group.result = group.accumulator = node.outputs[0];
  return group;
}

Result<Group> computeGroup(const Graph &graph, const Node &node) {
  Group group = groupOf(node, TaskKind::Compute);
  if (node.op == Op::Compute) {
    group.computation = std::get<Computation>(node.attributes);
    return group;
  }
  auto computation = asComputation(graph, node);
  if (!computation)
    return makeError("node '" + node.name +
                     "': " + std::string(nameOf(node.op)) + " of " +
                     typeText(graph.value(node.inputs[0]).dtype,
                              graph.value(node.inputs[0]).dims) +
                     " is not supported");
  group.computation = std::move(*computation);
  return group;
}

/// The input of the transpose of the last two dims that made `id`, if one did.
static ValueId transposedSource(const Graph &graph, const Uses &uses,
                                ValueId id) {
  int32_t producer = uses.producer[size_t(id)];
  if (producer < 0)
    return kNoValue;
  const Node &node = graph.nodes[size_t(producer)];
  if (node.op != Op::Transpose)
    return kNoValue;
  std::vector<int64_t> axes = std::get<AxesAttributes>(node.attributes).axes;
  std::vector<int64_t> swapped(axes.size());
  std::iota(swapped.begin(), swapped.end(), 0);
  if (axes.size() < 2)
    return kNoValue;
  std::swap(swapped[axes.size() - 1], swapped[axes.size() - 2]);
  return axes == swapped ? node.inputs[0] : kNoValue;
}

Result<Group> batchMatMulGroup(const Graph &graph, const Uses &uses,
                               const Node &node) {
  Group group = groupOf(node, TaskKind::BatchMatMul);
  const Dims &out = graph.value(node.outputs[0]).dims;
  const Dims &a = graph.value(node.inputs[0]).dims;
  const Dims &b = graph.value(node.inputs[1]).dims;
  auto isWhole = [&](const Dims &dims) {
    int64_t batch = batchDims(dims)[0];
    return batch == 1 || batch == batchDims(out)[0];
  };
  if (!isWhole(a) || !isWhole(b))
    return computeGroup(graph, node);
  if (ValueId source = transposedSource(graph, uses, node.inputs[1]);
      source != kNoValue) {
    group.inputs[1] = source;
    group.transposedWeight = true;
  }
  return group;
}

} // namespace tlm
