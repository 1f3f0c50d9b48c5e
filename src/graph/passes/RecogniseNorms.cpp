// (x - mean) / sqrt(variance + epsilon) * gamma + beta along the last dim as
// one LayerNorm, and x / sqrt(mean(x^2) + epsilon) * gamma as one RmsNorm, in
// the forms that exporters write.

#include "graph/Match.h"
#include "graph/Passes.h"

#include <optional>

using namespace tlm;

namespace {

struct Normalisation {
  Op op = Op::RmsNorm;
  ValueId x = kNoValue;
  float epsilon = 0;
};

class NormRules {
public:
  explicit NormRules(Graph &graph) : graph(graph), match(graph) {
    readers.resize(graph.values.size(), -1);
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      for (ValueId id : graph.nodes[i].inputs)
        if (id >= 0)
          readers[size_t(id)] = int32_t(i);
  }

  void run() {
    for (Node &node : graph.nodes)
      if (auto found = normalised(node))
        rewrite(node, *found);
  }

private:
  /// id = mean of something along the last dim: that something.
  ValueId meanOf(ValueId id) const {
    const Node *mean = match.maker(id, Op::ReduceMean);
    if (!mean)
      return kNoValue;
    const auto &axes = std::get<AxesAttributes>(mean->attributes).axes;
    int64_t rank = int64_t(match.dims(mean->inputs[0]).size());
    return axes == std::vector<int64_t>{rank - 1} ? mean->inputs[0] : kNoValue;
  }

  /// id = sqrt(mean(c * c) + epsilon)
  std::optional<float> deviationOf(ValueId id, ValueId c) const {
    const Node *root = match.maker(id, Op::Sqrt);
    const Node *add = root ? match.maker(root->inputs[0], Op::Add) : nullptr;
    if (!add)
      return std::nullopt;
    for (size_t side : {size_t(0), size_t(1)}) {
      auto epsilon = match.scalar(add->inputs[side]);
      ValueId squares = epsilon ? meanOf(add->inputs[1 - side]) : kNoValue;
      const Node *mul = match.maker(squares, Op::Mul);
      if (mul && mul->inputs[0] == c && mul->inputs[1] == c)
        return epsilon;
    }
    return std::nullopt;
  }

  std::optional<Normalisation> normalised(const Node &node) const {
    std::optional<float> epsilon;
    ValueId c = kNoValue;
    if (node.op == Op::Div) {
      c = node.inputs[0];
      epsilon = deviationOf(node.inputs[1], c);
    } else if (node.op == Op::Mul) {
      for (size_t side : {size_t(0), size_t(1)}) {
        const Node *inverse = match.maker(node.inputs[side], Op::Div);
        if (epsilon || !inverse || !match.isScalar(inverse->inputs[0], 1.0f))
          continue;
        c = node.inputs[1 - side];
        epsilon = deviationOf(inverse->inputs[1], c);
      }
    }
    if (!epsilon || match.dims(c).empty())
      return std::nullopt;
    const Node *centred = match.maker(c, Op::Sub);
    if (centred && meanOf(centred->inputs[1]) == centred->inputs[0])
      return Normalisation{Op::LayerNorm, centred->inputs[0], *epsilon};
    return Normalisation{Op::RmsNorm, c, *epsilon};
  }

  /// The only reader of an inner value, if its operator is `op`.
  Node *onlyReader(ValueId id, Op op) {
    if (!match.uses.isInner(id))
      return nullptr;
    Node &reader = graph.nodes[size_t(readers[size_t(id)])];
    return reader.op == op ? &reader : nullptr;
  }

  /// A constant of one value a column, as [C]; kNoValue when it is not.
  ValueId perColumn(ValueId id, int64_t columns) {
    const Value &value = graph.value(id);
    if (!value.isConstant() || value.dtype != DType::F32 ||
        value.dims.empty() || value.dims.back() != columns ||
        countOf(value.dims) != columns)
      return kNoValue;
    if (value.dims.size() == 1)
      return id;
    Value flat = value;
    flat.name += "#columns";
    flat.dims = {columns};
    graph.values.push_back(std::move(flat));
    return ValueId(graph.values.size()) - 1;
  }

  void rewrite(Node &node, const Normalisation &found) {
    Node *last = &node;
    std::vector<ValueId> inputs = {found.x};
    int64_t columns = match.dims(found.x).back();
    auto absorb = [&](Op op) {
      ValueId result = last->outputs[0];
      Node *next = onlyReader(result, op);
      if (!next || match.dims(next->outputs[0]) != match.dims(result))
        return;
      ValueId other = next->inputs[next->inputs[0] == result ? 1 : 0];
      ValueId parameter = perColumn(other, columns);
      if (parameter == kNoValue)
        return;
      inputs.push_back(parameter);
      last = next;
    };
    absorb(Op::Mul);
    if (found.op == Op::LayerNorm && inputs.size() == 2)
      absorb(Op::Add);
    last->op = found.op;
    last->inputs = std::move(inputs);
    last->attributes = NormAttributes{found.epsilon};
  }

  Graph &graph;
  Match match;
  std::vector<int32_t> readers; ///< the last node that reads a value
};

} // namespace

void tlm::recogniseNorms(Graph &graph) { NormRules(graph).run(); }
