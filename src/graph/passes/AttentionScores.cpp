#include "graph/passes/AttentionScores.h"

#include <algorithm>
#include <numeric>

using namespace tlm;

/// Numbers that stand for minus infinity.
static constexpr float kMasked = -1e4f, kLowest = -1e30f;

bool tlm::keepsMatrices(const Graph &graph, const Node &reshape) {
  const Dims &from = graph.value(reshape.inputs[0]).dims;
  const Dims &to = graph.value(reshape.outputs[0]).dims;
  return from.size() > 2 && to.size() > 2 &&
         std::equal(from.end() - 2, from.end(), to.end() - 2);
}

namespace {

using Mask = AttentionScores::Mask;

class ScoreWalk {
public:
  ScoreWalk(const Graph &graph, const Match &match)
      : graph(graph), match(match) {}

  /// From `at` down to the product. False leaves `scores` in any state.
  bool walk(ValueId at, AttentionScores &scores, int steps = 12) const {
    if (!steps-- || !match.uses.isInner(at))
      return false;
    if ((scores.product = match.maker(at, Op::MatMul)))
      return true;
    if (const Node *reshape = match.maker(at, Op::Reshape))
      return keepsMatrices(graph, *reshape) &&
             walk(reshape->inputs[0], scores, steps);
    if (const Node *div = match.maker(at, Op::Div)) {
      auto by = match.scalar(div->inputs[1]);
      if (!by || *by == 0 || !isWhole(div->inputs[0], at))
        return false;
      scores.scale /= *by;
      return walk(div->inputs[0], scores, steps);
    }
    if (const Node *mul = match.maker(at, Op::Mul)) {
      size_t side = match.scalar(mul->inputs[0]) ? 0 : 1;
      auto by = match.scalar(mul->inputs[side]);
      if (!by || !isWhole(mul->inputs[1 - side], at))
        return false;
      scores.scale *= *by;
      return walk(mul->inputs[1 - side], scores, steps);
    }
    // What lies under a scale would be scaled too.
    if (scores.scale != 1)
      return false;
    if (const Node *add = match.maker(at, Op::Add))
      return walkAdd(*add, scores, steps);
    if (const Node *max = match.maker(at, Op::Max))
      return walkMax(*max, scores, steps);
    if (const Node *select = match.maker(at, Op::Compute)) {
      Mask mask;
      ValueId inner = selected(*select, mask);
      if (inner == kNoValue)
        return false;
      scores.masks.push_back(std::move(mask));
      return walk(inner, scores, steps);
    }
    return false;
  }

private:
  bool isWhole(ValueId id, ValueId result) const {
    return match.dims(id) == match.dims(result);
  }

  bool walkAdd(const Node &add, AttentionScores &scores, int steps) const {
    for (size_t side : {size_t(0), size_t(1)}) {
      if (!isWhole(add.inputs[side], add.outputs[0]))
        continue;
      AttentionScores below = scores;
      below.masks.push_back({add.inputs[1 - side], match.dims(add.outputs[0])});
      if (walk(add.inputs[side], below, steps)) {
        scores = std::move(below);
        return true;
      }
    }
    return false;
  }

  /// max(scores + mask, lowest) is scores + max(mask, lowest): beside such a
  /// number every score is nothing.
  bool walkMax(const Node &max, AttentionScores &scores, int steps) const {
    size_t side = match.scalar(max.inputs[0]) ? 0 : 1;
    auto least = match.scalar(max.inputs[side]);
    if (!least || *least > kLowest || !scores.masks.empty() ||
        !isWhole(max.inputs[1 - side], max.outputs[0]))
      return false;
    scores.leastMask = std::max(scores.leastMask, *least);
    return walk(max.inputs[1 - side], scores, steps);
  }

  /// select(condition, scores, large negative) or the other way round: the
  /// scores, and what added to them does the same.
  ValueId selected(const Node &node, Mask &mask) const {
    const auto &computation = std::get<Computation>(node.attributes);
    const auto &nodes = computation.nodes;
    if (computation.result < 0 || !computation.reductions.empty())
      return kNoValue;
    const ScalarNode &select = nodes[size_t(computation.result)];
    if (select.op != Scalar::Select)
      return kNoValue;
    for (size_t side : {size_t(1), size_t(2)}) {
      int32_t kept = select.arguments[side];
      std::optional<float> low =
          numberOf(node, nodes[size_t(select.arguments[3 - side])]);
      if (!low || *low > kMasked || !loadsWhole(node, computation, kept))
        continue;
      ValueId scores = node.inputs[size_t(nodes[size_t(kept)].index)];
      mask.dims = match.dims(node.outputs[0]);
      buildSelection(node, computation, kept, side == 1, *low, mask);
      return scores;
    }
    return kNoValue;
  }

  std::optional<float> numberOf(const Node &node,
                                const ScalarNode &scalar) const {
    if (scalar.dtype != DType::F32)
      return std::nullopt;
    if (scalar.op == Scalar::Constant)
      return float(scalar.real);
    if (scalar.op == Scalar::Load)
      return match.scalar(node.inputs[size_t(scalar.index)]);
    return std::nullopt;
  }

  /// Whether scalar node `at` is the element of an operand at the loops, and
  /// the only load of that operand.
  bool loadsWhole(const Node &node, const Computation &computation,
                  int32_t at) const {
    const ScalarNode &load = computation.nodes[size_t(at)];
    if (load.op != Scalar::Load || load.dtype != DType::F32)
      return false;
    ValueId id = node.inputs[size_t(load.index)];
    if (!isWhole(id, node.outputs[0]))
      return false;
    for (size_t d = 0; d < load.arguments.size(); ++d) {
      const ScalarNode &index = computation.nodes[size_t(load.arguments[d])];
      if (match.dims(id)[d] != 1 &&
          (index.op != Scalar::Loop || index.index != int32_t(d)))
        return false;
    }
    for (size_t i = 0; i < computation.nodes.size(); ++i) {
      const ScalarNode &other = computation.nodes[i];
      if (int32_t(i) != at && other.op == Scalar::Load &&
          node.inputs[size_t(other.index)] == id)
        return false;
    }
    return true;
  }

  /// The selection with 0 for the scores, over those loops alone that it
  /// depends on: a mask of few keys stays one.
  void buildSelection(const Node &node, const Computation &computation,
                      int32_t kept, bool keptIsFirst, float low,
                      Mask &mask) const {
    ComputationBuilder builder(computation.loops);
    std::vector<ComputationBuilder::Node> copies;
    for (size_t i = 0; i < computation.nodes.size(); ++i) {
      const ScalarNode &scalar = computation.nodes[i];
      std::vector<ComputationBuilder::Node> arguments;
      for (int32_t argument : scalar.arguments)
        arguments.push_back(copies[size_t(argument)]);
      if (int32_t(i) == kept) {
        copies.push_back(builder.real(0));
      } else if (int32_t(i) == computation.result) {
        auto zero = builder.real(0), lowest = builder.real(double(low));
        copies.push_back(builder.select(arguments[0],
                                        keptIsFirst ? zero : lowest,
                                        keptIsFirst ? lowest : zero));
      } else {
        copies.push_back(copied(builder, scalar, arguments, node, mask));
      }
    }
    mask.selection = builder.finish(copies[size_t(computation.result)]);
    dropUnusedOperands(mask);
    std::vector<bool> uses(computation.loops.size(), false);
    for (const ScalarNode &scalar : mask.selection.nodes)
      if (scalar.op == Scalar::Loop)
        uses[size_t(scalar.index)] = true;
    for (size_t d = 0; d < uses.size(); ++d)
      if (!uses[d])
        mask.selection.loops[d] = 1;
  }

  ComputationBuilder::Node
  copied(ComputationBuilder &builder, const ScalarNode &scalar,
         std::vector<ComputationBuilder::Node> arguments, const Node &node,
         Mask &mask) const {
    switch (scalar.op) {
    case Scalar::Constant:
      return isFloat(scalar.dtype)
                 ? builder.real(scalar.real, scalar.dtype)
                 : builder.integer(scalar.integer, scalar.dtype);
    case Scalar::Loop:
      return builder.loop(size_t(scalar.index));
    case Scalar::Cast:
      return builder.cast(arguments[0], scalar.dtype);
    case Scalar::Load: {
      ValueId operand = node.inputs[size_t(scalar.index)];
      lookThrough(builder, operand, arguments);
      mask.operands.push_back(operand);
      return builder.load(int32_t(mask.operands.size()) - 1, scalar.dtype,
                          std::move(arguments));
    }
    default:
      return builder.op(scalar.op, std::move(arguments));
    }
  }

  /// Replaces an operand that only repeats or moves elements of another one.
  void lookThrough(ComputationBuilder &builder, ValueId &operand,
                   std::vector<ComputationBuilder::Node> &indices) const {
    while (const Node *move = match.maker(operand, Op::Compute)) {
      const auto &computation = std::get<Computation>(move->attributes);
      const ScalarNode &load = computation.nodes[size_t(computation.result)];
      if (load.op != Scalar::Load || !computation.reductions.empty())
        return;
      std::vector<ComputationBuilder::Node> inner;
      for (int32_t argument : load.arguments) {
        const ScalarNode &index = computation.nodes[size_t(argument)];
        if (index.op == Scalar::Loop)
          inner.push_back(indices[size_t(index.index)]);
        else if (index.op == Scalar::Constant)
          inner.push_back(builder.integer(index.integer));
        else
          return;
      }
      operand = move->inputs[size_t(load.index)];
      indices = std::move(inner);
    }
  }

  /// finish() drops nodes, and with them loads.
  static void dropUnusedOperands(Mask &mask) {
    std::vector<int32_t> now(mask.operands.size(), -1);
    std::vector<ValueId> used;
    for (ScalarNode &scalar : mask.selection.nodes) {
      if (scalar.op != Scalar::Load)
        continue;
      int32_t &index = now[size_t(scalar.index)];
      if (index < 0) {
        index = int32_t(used.size());
        used.push_back(mask.operands[size_t(scalar.index)]);
      }
      scalar.index = index;
    }
    mask.operands = std::move(used);
  }

  const Graph &graph;
  const Match &match;
};

} // namespace

std::optional<AttentionScores>
AttentionScores::of(const Graph &graph, const Match &match, ValueId operand) {
  AttentionScores scores;
  if (!ScoreWalk(graph, match).walk(operand, scores))
    return std::nullopt;
  return scores;
}

/// The extent that stands for dims [begin, end) of scores in a mask, where
/// they become one dim: all or 1; 0 where only some of them broadcast.
static int64_t mergedExtent(const Dims &mask, const Dims &scores, size_t begin,
                            size_t end) {
  bool isOne = true, isWhole = true;
  int64_t extent = 1;
  for (size_t i = begin; i < end; ++i) {
    isOne &= mask[i] == 1;
    isWhole &= mask[i] == scores[i];
    extent *= mask[i];
  }
  return isOne || isWhole ? extent : 0;
}

/// A mask's dims as [batch or 1, heads or 1, S or 1, T or 1]; nothing where it
/// has no such form.
static std::optional<Dims> fourDims(Dims mask, const Dims &scores,
                                    int64_t batch, int64_t heads) {
  if (mask.size() > scores.size())
    return std::nullopt;
  mask.insert(mask.begin(), scores.size() - mask.size(), 1);
  size_t leading = scores.size() - 2;
  auto with = [&](int64_t b, int64_t h) {
    return Dims{b, h, mask[leading], mask[leading + 1]};
  };
  int64_t before = 1;
  for (size_t i = 0; i <= leading; ++i) {
    if (i)
      before *= scores[i - 1];
    int64_t b = mergedExtent(mask, scores, 0, i);
    int64_t h = mergedExtent(mask, scores, i, leading);
    if (before == batch && b && h)
      return with(b, h);
  }
  int64_t all = mergedExtent(mask, scores, 0, leading);
  if (all == 0)
    return std::nullopt;
  return all == 1 ? with(1, 1) : with(batch, heads);
}

std::optional<ValueId> AttentionScores::mask(GraphBuilder &builder,
                                             const Graph &graph, int64_t batch,
                                             int64_t heads,
                                             const std::string &name) const {
  ValueId sum = kNoValue;
  auto take = [&](Result<ValueId> result) {
    sum = result ? *result : kNoValue;
    return bool(result);
  };
  for (const Mask &mask : masks) {
    ValueId id = mask.id;
    if (id == kNoValue) {
      Result<ValueId> computed = builder.add(
          Op::Compute, mask.operands, mask.selection, name + "#mask", name);
      if (!computed)
        return std::nullopt;
      id = *computed;
    }
    std::optional<Dims> dims =
        fourDims(graph.value(id).dims, mask.dims, batch, heads);
    if (!dims)
      return std::nullopt;
    if (*dims != graph.value(id).dims) {
      Result<ValueId> reshaped =
          builder.addReshape(id, *dims, name + "#mask4", name);
      if (!reshaped)
        return std::nullopt;
      id = *reshaped;
    }
    if (sum == kNoValue)
      sum = id;
    else if (!take(builder.add(Op::Add, {sum, id}, {}, name + "#masks", name)))
      return std::nullopt;
  }
  if (sum == kNoValue || leastMask <= -std::numeric_limits<float>::infinity())
    return sum;
  ValueId least = builder.addConstant(name + "#least", {}, {leastMask});
  if (!take(builder.add(Op::Max, {sum, least}, {}, name + "#clamped", name)))
    return std::nullopt;
  return sum;
}
