// A computation whose only reader is a computation moves into it, so that mask
// and position arithmetic is one kernel and no pass over memory per operator.
// Reshapes that only add or drop dims of 1, transposes, and pointwise operators
// of such values move along. Pointwise operators behind a convolution, a
// product or a pool stay: there they are an epilogue.

#include "base/Check.h"
#include "graph/AsComputation.h"
#include "graph/Passes.h"
#include "graph/Uses.h"

#include <algorithm>
#include <map>

using namespace tlm;

namespace {

/// More nodes make a kernel no faster, only longer to compile.
constexpr size_t kMostNodes = 64;
/// Nodes that are nothing to compute twice.
constexpr size_t kCheapNodes = 12;

bool isExpensive(const Computation &computation) {
  return computation.nodes.size() > kCheapNodes ||
         std::ranges::any_of(computation.nodes, [](const ScalarNode &node) {
           return node.op == Scalar::Pow ||
                  (node.op >= Scalar::Sqrt && node.op <= Scalar::Atanh) ||
                  (isFloat(node.dtype) && node.op >= Scalar::Div &&
                   node.op <= Scalar::FloorMod);
         });
}

bool hasReduce(const Computation &computation) {
  return std::ranges::any_of(computation.nodes, [](const ScalarNode &node) {
    return node.op == Scalar::Reduce;
  });
}

/// `outer` with its loads of operand `index` replaced by `inner`.
/// `operandOf[i]` is the new operand of inner's operand i; outer's own
/// operands are renumbered by `outerOperandOf`.
class Substitution {
public:
  Substitution(const Computation &outer, int32_t index,
               const Computation &inner,
               const std::vector<int32_t> &outerOperandOf,
               const std::vector<int32_t> &operandOf)
      : outer(outer), inner(inner), index(index),
        outerOperandOf(outerOperandOf), operandOf(operandOf),
        builder(outer.loops, outer.reductions) {}

  Computation run() {
    for (const ScalarNode &node : outer.nodes)
      outerNodes.push_back(rewritten(node));
    return builder.finish(outerNodes[size_t(outer.result)]);
  }

private:
  using Node = ComputationBuilder::Node;

  Node rewritten(const ScalarNode &node) {
    std::vector<Node> arguments;
    for (int32_t argument : node.arguments)
      arguments.push_back(outerNodes[size_t(argument)]);
    if (node.op == Scalar::Load && node.index == index)
      return inlined(arguments);
    if (node.op == Scalar::Loop) {
      size_t loop = size_t(node.index), parallel = outer.loops.size();
      return loop < parallel ? builder.loop(loop)
                             : builder.reduction(loop - parallel);
    }
    return rebuilt(node, std::move(arguments), outerOperandOf);
  }

  /// inner at these indices, clamped as a load is.
  Node inlined(const std::vector<Node> &at) {
    if (auto known = seen.find(at); known != seen.end())
      return known->second;
    std::vector<Node> nodes;
    for (const ScalarNode &node : inner.nodes) {
      std::vector<Node> arguments;
      for (int32_t argument : node.arguments)
        arguments.push_back(nodes[size_t(argument)]);
      if (node.op == Scalar::Loop) {
        size_t loop = size_t(node.index);
        Node last = builder.integer(inner.loops[loop] - 1);
        nodes.push_back(
            builder.op(Scalar::Max, {builder.op(Scalar::Min, {at[loop], last}),
                                     builder.integer(0)}));
      } else {
        nodes.push_back(rebuilt(node, std::move(arguments), operandOf));
      }
    }
    return seen[at] = nodes[size_t(inner.result)];
  }

  Node rebuilt(const ScalarNode &node, std::vector<Node> arguments,
               const std::vector<int32_t> &operands) {
    switch (node.op) {
    case Scalar::Constant:
      return isFloat(node.dtype) ? builder.real(node.real, node.dtype)
                                 : builder.integer(node.integer, node.dtype);
    case Scalar::Load:
      return builder.load(operands[size_t(node.index)], node.dtype,
                          std::move(arguments));
    case Scalar::Cast:
      return builder.cast(arguments[0], node.dtype);
    case Scalar::Reduce:
      return builder.reduce(arguments[0], outer.combine);
    default:
      return builder.op(node.op, std::move(arguments));
    }
  }

  const Computation &outer, &inner;
  int32_t index;
  const std::vector<int32_t> &outerOperandOf, &operandOf;
  ComputationBuilder builder;
  std::vector<Node> outerNodes;
  std::map<std::vector<Node>, Node> seen;
};

class Inliner {
public:
  explicit Inliner(Graph &graph)
      : graph(graph), uses(graph), isComputed(graph.values.size(), false) {}

  void run() {
    for (Node &node : graph.nodes)
      if (ValueId output = node.outputs[0]; mayMove(node))
        isComputed[size_t(output)] = true;
    for (Node &node : graph.nodes)
      if (node.op == Op::Compute || readsComputation(node))
        while (absorb(node)) {
        }
    removeErasedNodes(graph);
  }

private:
  /// A value that is no anchor's result, nor made of one point by point.
  bool mayMove(const Node &node) const {
    if (node.op == Op::Compute)
      return true;
    if (node.op == Op::Transpose)
      return isComputed[size_t(node.inputs[0])];
    if (node.op == Op::Reshape)
      return isComputed[size_t(node.inputs[0])] && unitReshape(node);
    return isPointwise(node.op) &&
           std::ranges::all_of(node.inputs, [this](ValueId id) {
             return graph.value(id).isConstant() ||
                    uses.producer[size_t(id)] < 0 || isComputed[size_t(id)];
           });
  }

  /// A pointwise operator of computations becomes one itself.
  bool readsComputation(const Node &node) const {
    return isPointwise(node.op) && isComputed[size_t(node.outputs[0])] &&
           std::ranges::any_of(node.inputs, [this](ValueId id) {
             int32_t producer = uses.producer[size_t(id)];
             return producer >= 0 && uses.isInner(id) &&
                    graph.nodes[size_t(producer)].op == Op::Compute;
           });
  }

  /// Whether both sides have the same extents but for ones.
  bool unitReshape(const Node &node) const {
    auto bare = [](Dims dims) {
      std::erase(dims, 1);
      return dims;
    };
    return bare(graph.value(node.inputs[0]).dims) ==
           bare(graph.value(node.outputs[0]).dims);
  }

  std::optional<Computation> computationOf(const Node &node) const {
    if (node.op != Op::Reshape)
      return asComputation(graph, node);
    const Value &from = graph.value(node.inputs[0]);
    const Dims &to = graph.value(node.outputs[0]).dims;
    ComputationBuilder builder(to);
    std::vector<ComputationBuilder::Node> index;
    size_t loop = 0;
    for (int64_t extent : from.dims) {
      while (extent != 1 && to[loop] == 1)
        ++loop;
      index.push_back(extent == 1 ? builder.integer(0) : builder.loop(loop++));
    }
    return builder.finish(builder.load(0, from.dtype, std::move(index)));
  }

  /// Moves one producer into the node; whether there was one.
  bool absorb(Node &node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId id = node.inputs[i];
      int32_t producer = uses.producer[size_t(id)];
      if (producer < 0 || !uses.isInner(id) || !isComputed[size_t(id)])
        continue;
      Node &maker = graph.nodes[size_t(producer)];
      if (maker.outputs.empty() || countOf(graph.value(id).dims) == 0)
        continue;
      std::optional<Computation> outer = computationOf(node);
      std::optional<Computation> inner = computationOf(maker);
      if (outer && inner && substitute(node, int32_t(i), *outer, maker, *inner))
        return true;
    }
    return false;
  }

  bool isWorthIt(const Computation &outer, int32_t index,
                 const Computation &inner) const {
    if (hasReduce(inner))
      return false;
    auto loads = std::ranges::count_if(outer.nodes, [&](const ScalarNode &n) {
      return n.op == Scalar::Load && n.index == index;
    });
    double evaluations = double(loads) * double(countOf(outer.loops)) *
                         double(countOf(outer.reductions));
    bool isRepeated = evaluations > 1.5 * double(countOf(inner.loops));
    return !isRepeated || !isExpensive(inner);
  }

  bool substitute(Node &node, int32_t index, const Computation &outer,
                  Node &maker, const Computation &inner) {
    if (!isWorthIt(outer, index, inner))
      return false;
    std::vector<ValueId> inputs;
    auto operandFor = [&inputs](ValueId id) {
      auto found = std::find(inputs.begin(), inputs.end(), id);
      if (found == inputs.end())
        found = inputs.insert(found, id);
      return int32_t(found - inputs.begin());
    };
    std::vector<int32_t> outerOperandOf, operandOf;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      outerOperandOf.push_back(
          int32_t(i) == index ? -1 : operandFor(node.inputs[i]));
    for (ValueId id : maker.inputs)
      operandOf.push_back(operandFor(id));
    Computation both =
        Substitution(outer, index, inner, outerOperandOf, operandOf).run();
    if (both.nodes.size() > kMostNodes)
      return false;
    node.op = Op::Compute;
    node.attributes = std::move(both);
    // An operand that both read is read once now.
    for (ValueId id : node.inputs)
      --uses.count[size_t(id)];
    for (ValueId id : maker.inputs)
      --uses.count[size_t(id)];
    node.inputs = std::move(inputs);
    for (ValueId id : node.inputs)
      ++uses.count[size_t(id)];
    eraseNode(maker);
    return true;
  }

  Graph &graph;
  Uses uses;
  std::vector<bool> isComputed; ///< per value: see mayMove
};

} // namespace

void tlm::inlineComputations(Graph &graph) { Inliner(graph).run(); }
