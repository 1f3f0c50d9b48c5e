#include "graph/GraphBuilder.h"
#include "graph/Passes.h"
#include "graph/Uses.h"

#include <cmath>
#include <optional>

using namespace tlm;

namespace {

/// A constant that holds one number per entry of the output dim `axis` (or one
/// for all) and broadcasts along every other dim: those numbers.
std::optional<std::vector<double>> perChannel(const Value &value,
                                              const Dims &output, size_t axis) {
  if (!value.isConstant() || value.dtype != DType::F32 ||
      value.dims.size() > output.size())
    return std::nullopt;
  size_t lead = output.size() - value.dims.size();
  for (size_t i = 0; i < value.dims.size(); ++i)
    if (value.dims[i] != 1 &&
        (lead + i != axis || value.dims[i] != output[axis]))
      return std::nullopt;
  const float *data = value.constant.as<float>();
  if (countOf(value.dims) == 1)
    return std::vector<double>(size_t(output[axis]), double(data[0]));
  return std::vector<double>(data, data + output[axis]);
}

/// The other operand of a two-operand node.
ValueId otherInput(const Node &node, ValueId id) {
  return node.inputs[0] == id ? node.inputs[1] : node.inputs[0];
}

/// What runs behind one Conv or MatMul: y = (x * w + b) * scale + shift with
/// one scale and shift per output channel, gathered in double and rounded once.
struct Affine {
  std::vector<double> scale, shift;
  bool scales = false, shifts = false;
};

class ScaleFolder {
public:
  explicit ScaleFolder(Graph &graph)
      : graph(graph), uses(graph), reader(graph.values.size(), -1) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (ValueId id : graph.nodes[i].inputs)
        reader[size_t(id)] = int32_t(i);
  }

  void run() {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (canScale(graph.nodes[i]))
        fold(graph.nodes[i]);
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      mergeSteps(i);
    removeErasedNodes(graph);
  }

private:
  bool canScale(const Node &node) const {
    if (node.outputs.empty() || (node.op != Op::Conv && node.op != Op::MatMul))
      return false;
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (!graph.value(node.inputs[i]).isConstant())
        return false;
    return true;
  }

  void fold(Node &node) {
    bool isConv = node.op == Op::Conv;
    const Dims &dims = graph.value(node.outputs[0]).dims;
    size_t axis = isConv ? 1 : dims.size() - 1;
    size_t channels = size_t(dims[axis]);
    Affine affine{std::vector<double>(channels, 1.0),
                  std::vector<double>(channels, 0.0)};
    while (uses.isInner(node.outputs[0])) {
      Node &next = graph.nodes[size_t(reader[size_t(node.outputs[0])])];
      if (next.outputs.empty() || graph.value(next.outputs[0]).dims != dims ||
          !absorb(affine, node, next, axis, isConv))
        break;
      node.outputs = next.outputs;
      eraseNode(next);
    }
    if (affine.scales)
      scaleWeights(node, affine.scale, isConv);
    if (affine.scales || affine.shifts)
      rewriteBias(node, affine, isConv);
  }

  /// Whether `next` is a per-channel step, now part of `affine`.
  bool absorb(Affine &affine, const Node &node, const Node &next, size_t axis,
              bool isConv) const {
    bool scales = next.op == Op::Mul || next.op == Op::Div;
    bool shifts = next.op == Op::Add || next.op == Op::Sub;
    if ((!scales && !shifts) || (shifts && !isConv)) // MatMul has no bias
      return false;
    bool first = next.inputs[0] == node.outputs[0];
    if (!first && (next.op == Op::Div || next.op == Op::Sub))
      return false;
    ValueId other = otherInput(next, node.outputs[0]);
    auto numbers =
        perChannel(graph.value(other), graph.value(node.outputs[0]).dims, axis);
    if (!numbers)
      return false;
    // 0 * infinity must stay where the network has it.
    for (double number : *numbers)
      if (!std::isfinite(number) || (next.op == Op::Div && number == 0))
        return false;
    for (size_t c = 0; c < numbers->size(); ++c) {
      double number = (*numbers)[c];
      if (scales) {
        double factor = next.op == Op::Mul ? number : 1.0 / number;
        affine.scale[c] *= factor;
        affine.shift[c] *= factor;
      } else {
        affine.shift[c] += next.op == Op::Add ? number : -number;
      }
    }
    affine.scales |= scales;
    affine.shifts |= shifts;
    return true;
  }

  /// A chain of per-channel steps behind anything else becomes one Mul and one
  /// Add, where that is shorter.
  void mergeSteps(size_t first) {
    const Node &head = graph.nodes[first];
    if (head.outputs.empty() || head.inputs.size() != 2)
      return;
    bool swapped = graph.value(head.inputs[0]).isConstant();
    ValueId data = head.inputs[swapped];
    const Dims dims = graph.value(head.outputs[0]).dims;
    if (dims.size() < 2 || graph.value(data).dims != dims)
      return;
    Affine affine{std::vector<double>(size_t(dims[1]), 1.0),
                  std::vector<double>(size_t(dims[1]), 0.0)};
    Node source;
    source.outputs = {data};
    if (!absorb(affine, source, head, 1, true))
      return;
    std::vector<size_t> chain = {first};
    while (uses.isInner(graph.nodes[chain.back()].outputs[0])) {
      const Node &last = graph.nodes[chain.back()];
      size_t next = size_t(reader[size_t(last.outputs[0])]);
      if (graph.value(graph.nodes[next].outputs[0]).dims != dims ||
          !absorb(affine, last, graph.nodes[next], 1, true))
        break;
      chain.push_back(next);
    }
    if (chain.size() > size_t(affine.scales) + size_t(affine.shifts))
      rewriteSteps(chain, data, affine);
  }

  void rewriteSteps(const std::vector<size_t> &chain, ValueId data,
                    const Affine &affine) {
    Node &head = graph.nodes[chain.front()], &tail = graph.nodes[chain.back()];
    ValueId result = tail.outputs[0], scaled = head.outputs[0];
    Dims dims(graph.value(result).dims.size() - 1, 1);
    dims[0] = int64_t(affine.scale.size());
    std::string name = graph.value(result).name;
    auto constant = [&](const char *what, const std::vector<double> &numbers) {
      return GraphBuilder(graph).addConstant(
          name + what, dims,
          std::vector<float>(numbers.begin(), numbers.end()));
    };
    for (size_t index : chain)
      eraseNode(graph.nodes[index]);
    if (affine.scales) {
      head.op = Op::Mul;
      head.inputs = {data, constant("#scale", affine.scale)};
      head.outputs = {affine.shifts ? scaled : result};
      if (affine.shifts)
        graph.value(scaled).name = name + "#scaled";
      data = scaled;
    }
    if (affine.shifts) {
      tail.op = Op::Add;
      tail.inputs = {data, constant("#shift", affine.shift)};
      tail.outputs = {result};
    }
  }

  /// Conv weights are (F, ...), MatMul's (..., N).
  void scaleWeights(Node &node, const std::vector<double> &scale, bool isConv) {
    const Value &weights = graph.value(node.inputs[1]);
    size_t count = size_t(countOf(weights.dims));
    size_t inner = isConv ? count / scale.size() : 1;
    std::vector<float> scaled(count);
    const float *data = weights.constant.as<float>();
    for (size_t i = 0; i < count; ++i)
      scaled[i] = float(double(data[i]) * scale[i / inner % scale.size()]);
    std::string name = weights.name;
    Dims dims = weights.dims;
    node.inputs[1] = GraphBuilder(graph).addConstant(
        std::move(name), std::move(dims), std::move(scaled));
  }

  void rewriteBias(Node &node, const Affine &affine, bool isConv) {
    if (!isConv)
      return;
    bool had = node.inputs.size() == 3;
    if (!had && !affine.shifts)
      return;
    std::vector<float> bias(affine.shift.size());
    const float *old =
        had ? graph.value(node.inputs[2]).constant.as<float>() : nullptr;
    for (size_t c = 0; c < bias.size(); ++c)
      bias[c] = float((old ? double(old[c]) * affine.scale[c] : 0.0) +
                      affine.shift[c]);
    std::string name = had ? graph.value(node.inputs[2]).name
                           : graph.value(node.outputs[0]).name + "#bias";
    Dims dims{int64_t(bias.size())};
    node.inputs.resize(2);
    node.inputs.push_back(GraphBuilder(graph).addConstant(
        std::move(name), std::move(dims), std::move(bias)));
  }

  Graph &graph;
  Uses uses; // ids of new constants are never asked for
  std::vector<int32_t> reader;
};

} // namespace

void tlm::foldScales(Graph &graph) { ScaleFolder(graph).run(); }
