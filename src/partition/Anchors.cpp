//===- Anchors.cpp --------------------------------------------------------===//

#include "partition/Anchors.h"

#include "partition/Computations.h"

#include <algorithm>

namespace tlm {

static Error unsupported(const Node &node, const std::string &what) {
  return makeError("node '" + node.name + "': " + std::string(nameOf(node.op)) +
                   " " + what + " is not supported");
}

static bool isPoint(const Dims &dims) {
  return dims.size() == 4 && dims[2] == 1 && dims[3] == 1;
}

static Result<Group> convGroup(const Graph &graph, const Node &node,
                               Group group) {
  const auto &attributes = std::get<ConvAttributes>(node.attributes);
  const Dims &in = graph.value(node.inputs[0]).dims;
  const Dims &out = graph.value(node.outputs[0]).dims;
  if (in.size() != 4)
    return unsupported(node, "of rank " + std::to_string(in.size()));
  if (!graph.value(node.inputs[1]).isConstant())
    return unsupported(node, "with weights computed at run time");
  group.inputs = {node.inputs[0]};
  group.weight = node.inputs[1];
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    group.bias = node.inputs[2];
    if (!graph.value(group.bias).isConstant())
      return unsupported(node, "with a bias computed at run time");
  }
  for (const Window &window : attributes.windows)
    if (window.padBegin < 0 || window.padEnd < 0)
      return unsupported(node, "with negative padding");

  bool unitWindow = std::all_of(
      attributes.windows.begin(), attributes.windows.end(),
      [](const Window &window) {
        return window.kernel == 1 && !window.padBegin && !window.padEnd;
      });
  if (attributes.groups == 1 && unitWindow && isPoint(in)) {
    group.kind = TaskKind::MatMul;
    group.transposedWeight = true;
    return group;
  }
  group.groups = attributes.groups;
  group.windows = attributes.windows;
  group.kind = group.groups > 1 && group.groups == in[1] && in[1] == out[1]
                   ? TaskKind::Depthwise
                   : TaskKind::Conv;
  return group;
}

static Result<Group> matMulGroup(const Graph &graph, const Uses &uses,
                                 const Node &node, Group group) {
  const Value &right = graph.value(node.inputs[1]);
  const Dims &out = graph.value(node.outputs[0]).dims;
  size_t rank = right.dims.size();
  if (!right.isConstant() ||
      countOf(right.dims) != right.dims[rank - 2] * right.dims[rank - 1])
    return batchMatMulGroup(graph, uses, node);
  group.kind = TaskKind::MatMul;
  group.inputs = {node.inputs[0]};
  group.weight = node.inputs[1];
  group.columnDim = out.size() - 1;
  return group;
}

static Result<Group> poolGroup(const Graph &graph, const Node &node,
                               Group group) {
  const auto &attributes = std::get<PoolAttributes>(node.attributes);
  const Dims &in = graph.value(node.inputs[0]).dims;
  if (in.size() != 4)
    return unsupported(node, "of rank " + std::to_string(in.size()));
  group.inputs = {node.inputs[0]};
  group.windows = attributes.windows;
  group.kind =
      node.op == Op::MaxPool ? TaskKind::MaxPool : TaskKind::AveragePool;
  bool padded = false, overhang = false, whole = true;
  for (size_t i = 0; i < 2; ++i) {
    const Window &window = attributes.windows[i];
    int64_t ceilPad = attributes.ceilPad.empty() ? 0 : attributes.ceilPad[i];
    if (window.padBegin < 0 || window.padEnd < 0)
      return unsupported(node, "with negative padding");
    padded |= window.padBegin > 0 || window.padEnd > ceilPad;
    overhang |= ceilPad > 0;
    whole &= window.kernel == in[2 + i] && window.dilation == 1 &&
             !window.padBegin && !window.padEnd;
  }
  if (node.op == Op::MaxPool)
    return group;
  if (whole) {
    group.kind = TaskKind::GlobalPool;
    group.windows.clear();
    return group;
  }
  group.countIncludePad = attributes.countIncludePad && padded;
  if (group.countIncludePad && overhang)
    return unsupported(node, "with both count_include_pad and ceil_mode");
  return group;
}

static Result<Group> reduceGroup(const Graph &graph, const Node &node,
                                 Group group) {
  std::vector<int64_t> axes = std::get<AxesAttributes>(node.attributes).axes;
  std::sort(axes.begin(), axes.end());
  if (graph.value(node.inputs[0]).dims.size() != 4 ||
      axes != std::vector<int64_t>{2, 3})
    return unsupported(node, "over other axes than those of an image");
  group.kind = TaskKind::GlobalPool;
  group.inputs = {node.inputs[0]};
  return group;
}

static Result<Group> softmaxGroup(const Graph &graph, const Node &node,
                                  Group group) {
  const Dims &dims = graph.value(node.inputs[0]).dims;
  size_t axis = size_t(std::get<AxesAttributes>(node.attributes).axes.at(0));
  for (size_t i = axis + 1; i < dims.size(); ++i)
    if (dims[i] != 1)
      return unsupported(node, "along an axis that is not the last");
  group.kind = TaskKind::Softmax;
  group.inputs = {node.inputs[0]};
  group.columnDim = axis;
  return group;
}

static Group normGroup(const Node &node, Group group) {
  group.kind = TaskKind::Normalize;
  group.norm = node.op == Op::LayerNorm ? Norm::Layer : Norm::Rms;
  group.epsilon = std::get<NormAttributes>(node.attributes).epsilon;
  group.inputs = {node.inputs[0]};
  if (node.inputs.size() > 1)
    group.weight = node.inputs[1];
  if (node.inputs.size() > 2)
    group.bias = node.inputs[2];
  return group;
}

static Group attentionGroup(const Node &node, Group group) {
  const auto &attributes = std::get<AttentionAttributes>(node.attributes);
  group.kind = TaskKind::Attention;
  group.attention = {attributes.heads, attributes.keyHeads, attributes.scale};
  group.inputs = node.inputs;
  return group;
}

/// A permutation that keeps the order of all extents but 1 moves no memory.
static bool movesNothing(const Dims &dims, const std::vector<int64_t> &order) {
  int64_t last = -1;
  for (int64_t axis : order) {
    if (dims[size_t(axis)] == 1)
      continue;
    if (axis < last)
      return false;
    last = axis;
  }
  return true;
}

/// The group of the fastest kind that covers the node.
static Result<Group> fastGroup(const Graph &graph, const Uses &uses,
                               const Node &node) {
  Group group;
  group.name = node.name;
  group.result = group.accumulator = node.outputs.at(0);
  if (node.outputs.size() != 1)
    return unsupported(node, "with several outputs");
  switch (node.op) {
  case Op::Conv:
    return convGroup(graph, node, std::move(group));
  case Op::MatMul:
    return matMulGroup(graph, uses, node, std::move(group));
  case Op::MaxPool:
  case Op::AveragePool:
    return poolGroup(graph, node, std::move(group));
  case Op::ReduceMean:
    return reduceGroup(graph, node, std::move(group));
  case Op::Softmax:
    return softmaxGroup(graph, node, std::move(group));
  case Op::LayerNorm:
  case Op::RmsNorm:
    return normGroup(node, std::move(group));
  case Op::Attention:
    return attentionGroup(node, std::move(group));
  case Op::Concat:
    if (std::get<AxesAttributes>(node.attributes).axes !=
            std::vector<int64_t>{1} ||
        graph.value(node.outputs[0]).dims.size() != 4)
      return unsupported(node, "along another axis than the channel");
    group.kind = TaskKind::Concat;
    group.inputs = node.inputs;
    return group;
  case Op::Transpose:
    if (!movesNothing(graph.value(node.inputs[0]).dims,
                      std::get<AxesAttributes>(node.attributes).axes))
      return unsupported(node, "that moves data");
    [[fallthrough]];
  case Op::Reshape:
    group.isView = true;
    group.inputs = {node.inputs[0]};
    return group;
  default:
    return unsupported(node, "on its own");
  }
}

Result<Group> anchorGroup(const Graph &graph, const Uses &uses,
                          const Node &node) {
  if (node.op == Op::Compute)
    return computeGroup(graph, node);
  Result<Group> group = fastGroup(graph, uses, node);
  if (group)
    return group;
  Result<Group> general = computeGroup(graph, node);
  return general ? general : group;
}

} // namespace tlm
