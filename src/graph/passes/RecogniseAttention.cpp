// softmax(scale * Q K^T + mask) V as one Attention, in the forms that exporters
// write: heads split by reshape and transpose, the scale on the scores or
// folded elsewhere, the mask added or selected by a constant condition. Where
// Q, K and V are split from [B,S,heads*D] the operands become those, so that no
// transpose of heads is left.

#include "graph/GraphBuilder.h"
#include "graph/Match.h"
#include "graph/Passes.h"
#include "graph/ShapeRule.h"

using namespace tlm;

namespace {

using Axes = std::vector<int64_t>;

class AttentionRules {
public:
  explicit AttentionRules(Graph &graph)
      : graph(graph), match(graph), before(graph.nodes.size()),
        after(graph.nodes.size()) {}

  void run() {
    size_t count = graph.nodes.size();
    for (size_t i = 0; i < count; ++i)
      if (graph.nodes[i].op == Op::MatMul)
        recognise(i);
    std::vector<Node> nodes;
    for (size_t i = 0; i < count; ++i) {
      for (Node &node : before[i])
        nodes.push_back(std::move(node));
      nodes.push_back(std::move(graph.nodes[i]));
      for (Node &node : after[i])
        nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
  }

private:
  const Node *transposed(ValueId id, const Axes &axes) const {
    const Node *node = match.maker(id, Op::Transpose);
    return node && std::get<AxesAttributes>(node->attributes).axes == axes
               ? node
               : nullptr;
  }

  /// What an operand is before its heads are set apart: [B,S,heads,D] when
  /// `split`, else itself.
  struct Operand {
    ValueId id = kNoValue;
    bool split = false;
  };

  /// [B,heads,S,D], or where it came from as [B,S,heads,D].
  Operand heads(ValueId id) const {
    if (const Node *t = transposed(id, {0, 2, 1, 3}))
      return {t->inputs[0], true};
    return {id, false};
  }

  /// K^T [B,heads,D,T]: K in one of the two forms.
  Operand keys(ValueId id) const {
    if (const Node *t = transposed(id, {0, 2, 3, 1}))
      return {t->inputs[0], true};
    if (const Node *t = transposed(id, {0, 1, 3, 2}))
      return heads(t->inputs[0]);
    return {};
  }

  /// The operand as Attention takes it: [B,S,heads,D] has its last dims merged,
  /// by a reshape that moves nothing.
  ValueId merged(Operand operand, std::vector<Node> &nodes,
                 const std::string &name) {
    if (!operand.split)
      return operand.id;
    const Value &from = graph.value(operand.id);
    Value value;
    value.name = from.name + "#merged";
    value.dtype = from.dtype;
    value.dims = {from.dims[0], from.dims[1], from.dims[2] * from.dims[3]};
    graph.values.push_back(std::move(value));
    ValueId id = ValueId(graph.values.size()) - 1;
    nodes.push_back({Op::Reshape, name, {operand.id}, {id}, {}});
    return id;
  }

  /// select(constant condition, scores, large negative) as an added mask.
  ValueId selectedMask(const Node &node, ValueId &scores) {
    const auto &computation = std::get<Computation>(node.attributes);
    const auto &nodes = computation.nodes;
    if (computation.result < 0 || !computation.reductions.empty())
      return kNoValue;
    const ScalarNode &select = nodes[size_t(computation.result)];
    if (select.op != Scalar::Select)
      return kNoValue;
    const ScalarNode &condition = nodes[size_t(select.arguments[0])];
    const ScalarNode &kept = nodes[size_t(select.arguments[1])];
    const ScalarNode &other = nodes[size_t(select.arguments[2])];
    if (condition.op != Scalar::Load || condition.dtype != DType::Bool ||
        kept.op != Scalar::Load)
      return kNoValue;
    ValueId mask = node.inputs[size_t(condition.index)];
    ValueId x = node.inputs[size_t(kept.index)];
    std::optional<float> low;
    if (other.op == Scalar::Constant)
      low = float(other.real);
    else if (other.op == Scalar::Load)
      low = match.scalar(node.inputs[size_t(other.index)]);
    const Value &value = graph.value(mask);
    if (!low || *low > -1e4f || !value.isConstant() || value.dims.size() != 4 ||
        match.dims(x) != match.dims(node.outputs[0]))
      return kNoValue;
    std::vector<float> added(size_t(countOf(value.dims)));
    for (size_t i = 0; i < added.size(); ++i)
      added[i] = value.constant.as<bool>()[i] ? 0.0f : *low;
    scores = x;
    Dims dims = value.dims;
    std::string name = value.name + "#added";
    return GraphBuilder(graph).addConstant(name, dims, std::move(added));
  }

  void recognise(size_t index) {
    const Node product = graph.nodes[index];
    const Node *softmax = match.innerMaker(product.inputs[0], Op::Softmax);
    if (!softmax || match.dims(product.outputs[0]).size() != 4 ||
        std::get<AxesAttributes>(softmax->attributes).axes != Axes{3})
      return;
    // From the softmax down to Q K^T.
    ValueId at = softmax->inputs[0], mask = kNoValue;
    const Dims scoreDims = match.dims(at);
    float scale = 1;
    const Node *scores = nullptr;
    for (int steps = 0; steps < 6 && !scores; ++steps) {
      if (!match.uses.isInner(at))
        return;
      scores = match.maker(at, Op::MatMul);
      if (scores)
        break;
      if (const Node *div = match.maker(at, Op::Div)) {
        auto by = match.scalar(div->inputs[1]);
        if (!by || *by == 0)
          return;
        scale /= *by;
        at = div->inputs[0];
      } else if (const Node *mul = match.maker(at, Op::Mul)) {
        size_t side = match.scalar(mul->inputs[0]) ? 0 : 1;
        auto by = match.scalar(mul->inputs[side]);
        if (!by)
          return;
        scale *= *by;
        at = mul->inputs[1 - side];
      } else if (const Node *add = match.maker(at, Op::Add)) {
        // A mask under a scale would be scaled too.
        if (mask != kNoValue || scale != 1)
          return;
        size_t side = match.dims(add->inputs[0]) == scoreDims ? 1 : 0;
        if (match.dims(add->inputs[side]) == scoreDims &&
            match.maker(add->inputs[1 - side], Op::MatMul) == nullptr &&
            match.maker(add->inputs[1 - side], Op::Div) == nullptr &&
            match.maker(add->inputs[1 - side], Op::Mul) == nullptr)
          side = 1 - side;
        mask = add->inputs[side];
        if (match.dims(mask).size() != 4)
          return;
        at = add->inputs[1 - side];
      } else if (const Node *select = match.maker(at, Op::Compute)) {
        if (mask != kNoValue || scale != 1)
          return;
        ValueId inner = kNoValue;
        mask = selectedMask(*select, inner);
        if (mask == kNoValue)
          return;
        at = inner;
      } else {
        return;
      }
    }
    if (!scores || match.dims(at) != scoreDims)
      return;
    const Dims q4 = match.dims(scores->inputs[0]);
    const Dims v4 = match.dims(product.inputs[1]);
    if (q4.size() != 4 || v4.size() != 4)
      return;
    // The kernel loads whole vectors of a head.
    if (q4[3] % 16 || q4[1] != v4[1])
      return;
    Operand q = heads(scores->inputs[0]), k = keys(scores->inputs[1]),
            v = heads(product.inputs[1]);
    if (k.id == kNoValue)
      return;
    std::vector<Node> reshapes;
    std::vector<ValueId> inputs;
    for (Operand operand : {q, k, v})
      inputs.push_back(merged(operand, reshapes, product.name));
    if (mask != kNoValue)
      inputs.push_back(mask);
    AttentionAttributes attributes{q4[1], q4[1], scale};
    std::vector<Dims> dims;
    for (ValueId id : inputs)
      dims.push_back(match.dims(id));
    auto result = inferShape(Op::Attention, dims, attributes);
    if (!result)
      return;

    // The heads are merged again by a transpose; then its place is taken, else
    // the result is transposed back.
    size_t last = index;
    ValueId out = product.outputs[0];
    Value value;
    value.dtype = DType::F32;
    value.dims = *result;
    for (size_t i = index + 1; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].op == Op::Transpose &&
          graph.nodes[i].inputs[0] == out && match.uses.isInner(out) &&
          std::get<AxesAttributes>(graph.nodes[i].attributes).axes ==
              Axes{0, 2, 1, 3}) {
        last = i;
        out = graph.nodes[i].outputs[0];
        break;
      }
    value.name = graph.value(out).name + "#attention";
    graph.values.push_back(std::move(value));
    ValueId flat = ValueId(graph.values.size()) - 1;
    before[last] = std::move(reshapes);
    Node &node = graph.nodes[last];
    Node attention{
        Op::Attention, product.name, std::move(inputs), {flat}, attributes};
    Dims split = {(*result)[0], (*result)[1], q4[1], v4[3]};
    if (last != index) {
      node = std::move(attention);
      after[last].push_back({Op::Reshape, product.name, {flat}, {out}, {}});
      // The product is dead: nothing reads it.
      return;
    }
    Value apart;
    apart.name = graph.value(out).name + "#heads";
    apart.dtype = DType::F32;
    apart.dims = split;
    graph.values.push_back(std::move(apart));
    ValueId four = ValueId(graph.values.size()) - 1;
    graph.nodes[last] = std::move(attention);
    after[last].push_back({Op::Reshape, product.name, {flat}, {four}, {}});
    after[last].push_back({Op::Transpose,
                           product.name,
                           {four},
                           {out},
                           AxesAttributes{{0, 2, 1, 3}}});
  }

  Graph &graph;
  Match match;
  std::vector<std::vector<Node>> before, after; ///< new nodes at each node
};

} // namespace

void tlm::recogniseAttention(Graph &graph) { AttentionRules(graph).run(); }
