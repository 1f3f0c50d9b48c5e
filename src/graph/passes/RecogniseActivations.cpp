// Every rule looks at one node and what feeds it, and rewrites that node to
// read further up; the nodes in between die if nothing else reads them.

#include "graph/Match.h"
#include "graph/Passes.h"

#include <cmath>
#include <optional>

using namespace tlm;

namespace {

class ActivationRules {
public:
  explicit ActivationRules(Graph &graph) : graph(graph), match(graph) {}

  void run() {
    for (Node &node : graph.nodes)
      (void)(hardSigmoid(node) || swish(node) || hardSwish(node));
  }

private:
  /// node = x op c or, when op commutes, c op x: x. Shapes must not change.
  std::optional<ValueId> withScalar(const Node &node, float expected) const {
    bool commutes = node.op == Op::Mul || node.op == Op::Add;
    for (size_t side : {size_t(1), size_t(0)}) {
      if (side == 0 && !commutes)
        break;
      auto number = match.scalar(node.inputs[side]);
      ValueId x = node.inputs[1 - side];
      if (number && std::fabs(*number - expected) < 1e-6f * expected &&
          graph.value(x).dims == graph.value(node.outputs[0]).dims)
        return x;
    }
    return std::nullopt;
  }

  /// node = y / 6 or y * (1/6): y.
  std::optional<ValueId> sixth(const Node &node) const {
    if (node.op == Op::Div)
      return withScalar(node, 6.0f);
    if (node.op == Op::Mul)
      return withScalar(node, 1.0f / 6.0f);
    return std::nullopt;
  }

  /// id = clip(x + 3, 0, 6): x.
  std::optional<ValueId> clippedSix(ValueId id) const {
    const Node *clip = match.maker(id, Op::Clip);
    if (!clip)
      return std::nullopt;
    const auto &bounds = std::get<ScalarAttributes>(clip->attributes);
    const Node *add = match.maker(clip->inputs[0], Op::Add);
    if (bounds.a != 0 || bounds.b != 6 || !add)
      return std::nullopt;
    return withScalar(*add, 3.0f);
  }

  bool rewrite(Node &node, Op op, ValueId x, OpAttributes attributes) {
    if (graph.value(x).dims != graph.value(node.outputs[0]).dims)
      return false;
    node.op = op;
    node.inputs = {x};
    node.attributes = std::move(attributes);
    return true;
  }

  /// clip(x + 3, 0, 6) / 6
  bool hardSigmoid(Node &node) {
    auto clipped = sixth(node);
    auto x = clipped ? clippedSix(*clipped) : std::nullopt;
    return x && rewrite(node, Op::HardSigmoid, *x,
                        ScalarAttributes{1.0f / 6.0f, 0.5f});
  }

  /// x * sigmoid(x)
  bool swish(Node &node) {
    if (node.op != Op::Mul)
      return false;
    for (size_t side : {size_t(0), size_t(1)}) {
      const Node *sigmoid = match.maker(node.inputs[side], Op::Sigmoid);
      if (sigmoid && sigmoid->inputs[0] == node.inputs[1 - side])
        return rewrite(node, Op::Swish, sigmoid->inputs[0], {});
    }
    return false;
  }

  /// x * hard_sigmoid(x; 1/6, 1/2), or x * clip(x + 3, 0, 6) / 6
  bool hardSwish(Node &node) {
    if (node.op == Op::Mul)
      for (size_t side : {size_t(0), size_t(1)}) {
        const Node *gate = match.maker(node.inputs[side], Op::HardSigmoid);
        if (!gate || gate->inputs[0] != node.inputs[1 - side])
          continue;
        const auto &s = std::get<ScalarAttributes>(gate->attributes);
        if (std::fabs(s.a - 1.0f / 6.0f) < 1e-6f && s.b == 0.5f)
          return rewrite(node, Op::HardSwish, gate->inputs[0], {});
      }
    auto product = sixth(node);
    const Node *mul = product ? match.maker(*product, Op::Mul) : nullptr;
    if (!mul)
      return false;
    for (size_t side : {size_t(0), size_t(1)}) {
      auto x = clippedSix(mul->inputs[side]);
      if (x && *x == mul->inputs[1 - side])
        return rewrite(node, Op::HardSwish, *x, {});
    }
    return false;
  }

  Graph &graph;
  Match match;
};

} // namespace

void tlm::recogniseActivations(Graph &graph) { ActivationRules(graph).run(); }
