// softmax(scale * Q K^T + masks) V as one Attention, in the forms that
// exporters write: products of rank 4 or with batch and heads as one dim; heads
// split by reshape and transpose; the scale on the scores, on Q or K, or folded
// elsewhere; masks added, or selected by a condition. Where Q, K and V are
// split from [B,S,heads*D] the operands become those, so that no transpose of
// heads is left.

#include "graph/Passes.h"
#include "graph/ShapeRule.h"
#include "graph/passes/AttentionScores.h"

#include <algorithm>

using namespace tlm;

namespace {

using Axes = std::vector<int64_t>;

class AttentionRules {
public:
  explicit AttentionRules(Graph &graph)
      : graph(graph), match(graph), before(graph.nodes.size()),
        isReplaced(graph.nodes.size(), false) {}

  void run() {
    size_t count = graph.nodes.size();
    for (size_t i = 0; i < count; ++i)
      if (graph.nodes[i].op == Op::MatMul)
        recognise(i);
    std::vector<Node> nodes;
    for (size_t i = 0; i < count; ++i) {
      for (Node &node : before[i])
        nodes.push_back(std::move(node));
      if (!isReplaced[i])
        nodes.push_back(std::move(graph.nodes[i]));
    }
    graph.nodes = std::move(nodes);
  }

private:
  /// Q, K or V: a value of [B,S,heads,D] when `split`, of [B,heads,S,D], or of
  /// one of these with neighbouring dims merged.
  struct Operand {
    ValueId id = kNoValue;
    bool split = false;
  };
  struct Found {
    size_t index = 0; ///< of the product with V
    AttentionScores scores;
    float scale = 1;
    int64_t batch = 1, heads = 1;
    Operand q, k, v;
  };

  /// A mask that node `last` is the first to have.
  struct KnownMask {
    std::vector<AttentionScores::Mask> masks;
    float leastMask = 0;
    int64_t batch = 1, heads = 1;
    size_t last = 0;
    ValueId id = kNoValue;
  };

  const Node *transposed(ValueId id, const Axes &axes) const {
    const Node *node = match.maker(id, Op::Transpose);
    return node && std::get<AxesAttributes>(node->attributes).axes == axes
               ? node
               : nullptr;
  }

  /// What a factor of Q or K is multiplied to.
  ValueId unscaled(ValueId id, float &scale) const {
    for (;;) {
      const Node *node = match.maker(id, Op::Mul);
      size_t side = node && match.scalar(node->inputs[0]) ? 0 : 1;
      if (!node) {
        node = match.maker(id, Op::Div);
        side = 1;
      }
      auto by = node ? match.scalar(node->inputs[side]) : std::nullopt;
      if (!by || match.dims(node->inputs[1 - side]) != match.dims(id) ||
          (node->op == Op::Div && *by == 0))
        return id;
      scale = node->op == Op::Mul ? scale * *by : scale / *by;
      id = node->inputs[1 - side];
    }
  }

  /// [batch,heads,..] that a product of rank 3 takes with these dims as one.
  std::optional<ValueId> apart(ValueId id) const {
    const Node *reshape =
        match.dims(id).size() == 3 ? match.maker(id, Op::Reshape) : nullptr;
    if (reshape && match.dims(reshape->inputs[0]).size() == 4 &&
        keepsMatrices(graph, *reshape))
      return reshape->inputs[0];
    return std::nullopt;
  }

  /// The value with batch and heads apart, where it was, and without factors.
  ValueId bare(const Found &found, ValueId id, float &scale) const {
    id = unscaled(id, scale);
    std::optional<ValueId> four = apart(id);
    return four && match.dims(*four)[0] == found.batch &&
                   match.dims(*four)[1] == found.heads
               ? unscaled(*four, scale)
               : id;
  }

  Operand operandOf(const Found &found, ValueId id, float &scale) const {
    id = bare(found, id, scale);
    if (const Node *t = transposed(id, {0, 2, 1, 3}))
      return {unscaled(t->inputs[0], scale), true};
    return {id, false};
  }

  /// The same of K^T.
  Operand keysOf(const Found &found, ValueId id, float &scale) const {
    id = bare(found, id, scale);
    if (const Node *t = transposed(id, {0, 2, 3, 1}))
      return {unscaled(t->inputs[0], scale), true};
    const Node *t = transposed(id, {0, 1, 3, 2});
    if (!t)
      t = transposed(id, {0, 2, 1});
    return t ? operandOf(found, t->inputs[0], scale) : Operand{};
  }

  /// Batch and heads, by the first of `ids` that has them apart; else every
  /// matrix is an element of the batch.
  void findHeads(Found &found, const std::vector<ValueId> &ids) const {
    float ignored = 1;
    for (ValueId id : ids) {
      ValueId four = id;
      if (match.dims(id).size() == 3)
        four = apart(unscaled(id, ignored)).value_or(kNoValue);
      if (four == kNoValue)
        continue;
      found.batch = match.dims(four)[0];
      found.heads = match.dims(four)[1];
      return;
    }
    found.batch = match.dims(ids[0])[0];
  }

  /// Whether a product takes one matrix a head of each operand.
  bool isPaired(const Node &product) const {
    const Dims &a = match.dims(product.inputs[0]),
               &b = match.dims(product.inputs[1]);
    return (a.size() == 3 || a.size() == 4) && a.size() == b.size() &&
           std::equal(a.begin(), a.end() - 2, b.begin());
  }

  std::optional<Found> find(size_t index) const {
    const Node &product = graph.nodes[index];
    ValueId p = product.inputs[0];
    for (const Node *r;
         (r = match.innerMaker(p, Op::Reshape)) && keepsMatrices(graph, *r);)
      p = r->inputs[0];
    const Node *softmax = match.innerMaker(p, Op::Softmax);
    if (!softmax || std::get<AxesAttributes>(softmax->attributes).axes !=
                        Axes{int64_t(match.dims(p).size()) - 1})
      return std::nullopt;
    auto scores = AttentionScores::of(graph, match, softmax->inputs[0]);
    if (!scores)
      return std::nullopt;
    Found found;
    found.index = index;
    found.scores = std::move(*scores);
    ValueId q = found.scores.product->inputs[0],
            k = found.scores.product->inputs[1], v = product.inputs[1];
    if (!isPaired(product) || !isPaired(*found.scores.product))
      return std::nullopt;
    findHeads(found, {v, q, k});
    float one = 1;
    found.scale = found.scores.scale;
    found.q = operandOf(found, q, found.scale);
    found.k = keysOf(found, k, found.scale);
    found.v = operandOf(found, v, one);
    if (found.k.id == kNoValue || one != 1)
      return std::nullopt;
    return found;
  }

  /// The operand as Attention takes it: [B,S,heads,D] has its last dims merged,
  /// and [B,heads,S,D] its first ones apart, by reshapes that move nothing.
  ValueId shaped(GraphBuilder &builder, const Found &found, Operand operand,
                 const std::string &name) const {
    Dims dims = graph.value(operand.id).dims;
    if (operand.split && dims.size() == 4)
      dims = {dims[0], dims[1], dims[2] * dims[3]};
    else if (!operand.split && dims.size() == 3 && found.heads > 1)
      dims = {found.batch, found.heads, dims[1], dims[2]};
    if (dims == graph.value(operand.id).dims)
      return operand.id;
    std::string to = graph.value(operand.id).name + "#heads";
    return *builder.addReshape(operand.id, std::move(dims), to, name);
  }

  /// The one node after `index` that reads an inner value, if it is `op`.
  std::optional<size_t> reader(ValueId id, Op op, size_t index) const {
    if (match.uses.isInner(id))
      for (size_t i = index + 1; i < isReplaced.size(); ++i)
        if (graph.nodes[i].inputs.size() == 1 && graph.nodes[i].inputs[0] == id)
          return graph.nodes[i].op == op ? std::optional(i) : std::nullopt;
    return std::nullopt;
  }

  /// Where the heads are merged again: the transpose of [B,heads,S,D], else
  /// the product itself.
  size_t lastOf(const Found &found) const {
    size_t last = found.index;
    ValueId out = graph.nodes[last].outputs[0];
    if (match.dims(out).size() == 3)
      if (auto next = reader(out, Op::Reshape, last)) {
        const Dims &dims = match.dims(graph.nodes[*next].outputs[0]);
        if (!keepsMatrices(graph, graph.nodes[*next]) || dims.size() != 4 ||
            dims[0] != found.batch || dims[1] != found.heads)
          return found.index;
        last = *next;
      }
    auto next = reader(graph.nodes[last].outputs[0], Op::Transpose, last);
    return next && std::get<AxesAttributes>(graph.nodes[*next].attributes)
                           .axes == Axes{0, 2, 1, 3}
               ? *next
               : found.index;
  }

  void recognise(size_t index) {
    std::optional<Found> found = find(index);
    if (!found)
      return;
    size_t nodes = graph.nodes.size(), values = graph.values.size();
    size_t last = lastOf(*found);
    if (build(*found, last)) {
      before[last].assign(
          std::make_move_iterator(graph.nodes.begin() + int64_t(nodes)),
          std::make_move_iterator(graph.nodes.end()));
      isReplaced[last] = true; // what lies between is dead
    } else {
      graph.values.resize(values);
      std::erase_if(masks, [&](const KnownMask &known) {
        return known.id >= ValueId(values);
      });
    }
    graph.nodes.erase(graph.nodes.begin() + int64_t(nodes), graph.nodes.end());
  }

  /// Layers share their mask: it is made once.
  std::optional<ValueId> maskOf(GraphBuilder &builder, const Found &found,
                                size_t last) {
    const AttentionScores &scores = found.scores;
    for (const KnownMask &known : masks)
      if (known.last <= last && known.masks == scores.masks &&
          known.leastMask == scores.leastMask && known.batch == found.batch &&
          known.heads == found.heads)
        return known.id;
    auto id = scores.mask(builder, graph, found.batch, found.heads,
                          graph.nodes[found.index].name);
    if (id && *id != kNoValue)
      masks.push_back({scores.masks, scores.leastMask, found.batch, found.heads,
                       last, *id});
    return id;
  }

  /// Appends the nodes that make the output of node `last`.
  bool build(const Found &found, size_t last) {
    std::string name = graph.nodes[found.index].name;
    ValueId out = graph.nodes[last].outputs[0];
    int64_t depth =
        graph.value(graph.nodes[found.index].outputs[0]).dims.back();
    GraphBuilder builder(graph);
    std::vector<ValueId> inputs;
    for (Operand operand : {found.q, found.k, found.v})
      inputs.push_back(shaped(builder, found, operand, name));
    std::optional<ValueId> mask = maskOf(builder, found, last);
    if (!mask)
      return false;
    if (*mask != kNoValue)
      inputs.push_back(*mask);
    Result<ValueId> merged =
        builder.add(Op::Attention, inputs,
                    AttentionAttributes{found.heads, found.heads, found.scale},
                    graph.value(out).name + "#attention", name);
    if (!merged)
      return false;
    // Apart again as [B,S,heads,D], which is what the transpose yields.
    auto append = [&](Op op, ValueId from, OpAttributes attributes) {
      graph.nodes.push_back({op, name, {from}, {out}, std::move(attributes)});
    };
    if (last != found.index || found.heads == 1) {
      append(Op::Reshape, *merged, {});
      return true;
    }
    const Dims flat = graph.value(*merged).dims;
    ValueId split =
        *builder.addReshape(*merged, {flat[0], flat[1], found.heads, depth},
                            graph.value(out).name + "#split", name);
    if (graph.value(out).dims.size() == 4) {
      append(Op::Transpose, split, AxesAttributes{{0, 2, 1, 3}});
      return true;
    }
    ValueId headFirst =
        *builder.add(Op::Transpose, {split}, AxesAttributes{{0, 2, 1, 3}},
                     graph.value(out).name + "#apart", name);
    append(Op::Reshape, headFirst, {});
    return true;
  }

  Graph &graph;
  Match match;
  std::vector<std::vector<Node>> before; ///< new nodes at each node
  std::vector<bool> isReplaced;          ///< by them
  std::vector<KnownMask> masks;
};

} // namespace

void tlm::recogniseAttention(Graph &graph) { AttentionRules(graph).run(); }
