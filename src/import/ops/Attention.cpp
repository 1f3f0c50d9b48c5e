// softmax(scale * Q K^T + bias) V in operators of the graph, which recognises
// them again where it has a kernel. Masks of all kinds become one bias.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Rearrange.h"
#include "import/ops/Reducing.h"

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class AttentionImporter {
public:
  explicit AttentionImporter(NodeImporter &node) : node(node) {}

  Status run() {
    TLM_TRY_STATUS(readOperands());
    bool causal = node.intAttribute("is_causal", 0) != 0;
    int64_t left = node.intAttribute("left_window_size", -1);
    int64_t right = node.intAttribute("right_window_size", -1);
    if (left < -1 || right < -1)
      return makeError("window sizes below -1");
    TLM_TRY_STATUS(makeBias(causal, left, right));

    TLM_TRY(ValueId keys, repeated(k));
    TLM_TRY(ValueId values, repeated(v));
    TLM_TRY(keys, emitTranspose(node, keys, {0, 1, 3, 2}));
    TLM_TRY(ValueId scores, node.emit(Op::MatMul, {q, keys}));
    double scale = 1 / std::sqrt(double(node.dims(q)[3]));
    if (node.hasAttribute("scale"))
      scale = double(node.floatAttribute("scale", 1));
    TLM_TRY(scores, node.emit(Op::Mul, {scores, emitScalar(node, scale)}));
    double cap = double(node.floatAttribute("softcap", 0));
    if (cap != 0) {
      TLM_TRY(scores, node.emit(Op::Div, {scores, emitScalar(node, cap)}));
      TLM_TRY(scores, node.emit(Op::Tanh, {scores}));
      TLM_TRY(scores, node.emit(Op::Mul, {scores, emitScalar(node, cap)}));
    }
    ValueId biased = scores;
    if (bias != kNoValue) {
      TLM_TRY(biased, node.emit(Op::Add, {scores, bias}));
    }
    TLM_TRY(ValueId weights,
            node.emit(Op::Softmax, {biased}, AxesAttributes{{3}}));
    TLM_TRY(weights, withoutMaskedRows(weights));
    TLM_TRY(ValueId result, node.emit(Op::MatMul, {weights, values}));
    if (flat) {
      TLM_TRY(result, emitTranspose(node, result, {0, 2, 1, 3}));
      const Dims dims = node.dims(result);
      TLM_TRY(result,
              node.reshape(result, {dims[0], dims[1], dims[2] * dims[3]}));
    }
    TLM_TRY_STATUS(node.bind(result, 0));
    if (node.wantsOutput(1))
      TLM_TRY_STATUS(node.bind(k, 1));
    if (node.wantsOutput(2))
      TLM_TRY_STATUS(node.bind(v, 2));
    if (!node.wantsOutput(3))
      return success();
    int64_t mode = node.intAttribute("qk_matmul_output_mode", 0);
    return node.bind(mode == 3 ? weights : mode == 2 ? biased : scores, 3);
  }

private:
  /// [B,S,heads*D] as [B,heads,S,D].
  Result<ValueId> splitHeads(ValueId x, const char *attribute) {
    const Dims dims = node.dims(x);
    if (dims.size() == 4)
      return x;
    int64_t heads = node.intAttribute(attribute, 0);
    if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0)
      return makeError("operand " + dimsText(dims) + " with " +
                       std::to_string(heads) + " heads");
    TLM_TRY(ValueId split,
            node.reshape(x, {dims[0], dims[1], heads, dims[2] / heads}));
    return emitTranspose(node, split, {0, 2, 1, 3});
  }

  Status readOperands() {
    for (size_t i : {0, 1, 2})
      if (node.dtype(node.input(i)) != DType::F32)
        return node.unsupported("type " +
                                std::string(nameOf(node.dtype(node.input(i)))));
    flat = node.rank(node.input(0)) == 3;
    TLM_TRY(q, splitHeads(node.input(0), "q_num_heads"));
    TLM_TRY(k, splitHeads(node.input(1), "kv_num_heads"));
    TLM_TRY(v, splitHeads(node.input(2), "kv_num_heads"));
    if (node.hasInput(4) != node.hasInput(5))
      return makeError("past_key and past_value belong together");
    if (node.hasInput(4)) {
      if (node.rank(node.input(4)) != 4)
        return makeError("past_key must have rank 4");
      past = node.dims(node.input(4))[2];
      TLM_TRY(k, emitConcat(node, {node.input(4), k}, 2));
      TLM_TRY(v, emitConcat(node, {node.input(5), v}, 2));
    }
    const Dims &a = node.dims(q), &b = node.dims(k), &c = node.dims(v);
    if (a[0] != b[0] || b[0] != c[0] || b[1] != c[1] || b[2] != c[2] ||
        a[3] != b[3] || b[1] < 1 || a[1] % b[1] != 0)
      return makeError("Q " + dimsText(a) + ", K " + dimsText(b) + " and V " +
                       dimsText(c) + " do not fit");
    return success();
  }

  /// Every key and value head once for each query head of its group.
  Result<ValueId> repeated(ValueId x) {
    Dims dims = node.dims(x);
    int64_t group = node.dims(q)[1] / dims[1];
    if (group == 1)
      return x;
    dims[1] *= group;
    Expression e(node, dims);
    std::vector<Term> at = e.allLoops();
    at[1] = at[1] / double(group);
    return e.emit(e.load(x, at));
  }

  /// The mask's share of a bias at the loops; beyond its last dim: masked.
  Result<Term> maskTerm(Expression &e) {
    ValueId mask = node.input(3);
    const Dims dims = node.dims(mask);
    std::vector<Term> at;
    for (size_t i = 0; i < dims.size(); ++i)
      at.push_back(dims[i] == 1 ? e.integer(0) : e.loop(4 - dims.size() + i));
    Term value = e.load(mask, at);
    if (value.dtype() == DType::Bool)
      value = select(value, e.number(0, DType::F32),
                     e.number(-kInfinity, DType::F32));
    if (value.dtype() != DType::F32)
      return node.unsupported("a mask of " +
                              std::string(nameOf(value.dtype())));
    int64_t keys = node.dims(k)[2];
    if (!dims.empty() && dims.back() > 1 && dims.back() < keys)
      value = select(e.loop(3) < double(dims.back()), value, -kInfinity);
    return value;
  }

  Status checkMask() {
    const Dims &dims = node.dims(node.input(3));
    Dims wanted = {node.dims(q)[0], node.dims(q)[1], node.dims(q)[2],
                   node.dims(k)[2]};
    bool fits = dims.size() <= 4;
    for (size_t i = 0; fits && i < dims.size(); ++i) {
      int64_t extent = wanted[4 - dims.size() + i];
      bool last = i + 1 == dims.size();
      fits = dims[i] == 1 || dims[i] == extent ||
             (last && dims[i] < extent && dims[i] > 0);
    }
    if (!fits)
      return makeError("a mask of " + dimsText(dims) + " for scores of " +
                       dimsText(wanted));
    return success();
  }

  Status makeBias(bool causal, int64_t left, int64_t right) {
    bool masked = node.hasInput(3), lengths = node.hasInput(6);
    bool windowed = left >= 0 || right >= 0;
    if (!causal && !windowed && !masked && !lengths)
      return success();
    Dims loops = {1, 1, node.dims(q)[2], node.dims(k)[2]};
    if (masked) {
      TLM_TRY_STATUS(checkMask());
      const Dims &dims = node.dims(node.input(3));
      for (size_t i = 0; i + 2 < dims.size(); ++i)
        loops[4 - dims.size() + i] = dims[i];
    }
    if (lengths) {
      if (node.dims(node.input(6)) != Dims{node.dims(q)[0]} ||
          node.dtype(node.input(6)) != DType::I64 || past != 0)
        return makeError("nonpad_kv_seqlen must be i64[batch], without past");
      loops[0] = node.dims(q)[0];
    }
    Expression e(node, loops);
    Term query = e.loop(2), key = e.loop(3), offset = e.integer(past);
    Term hidden = e.integer(0, DType::Bool);
    if (lengths) {
      Term length = e.load(node.input(6), {e.loop(0)});
      offset = length - double(node.dims(q)[2]);
      hidden = length <= key;
    }
    Term position = query + offset;
    if (causal)
      hidden = hidden | (position < key);
    if (left >= 0)
      hidden = hidden | (key < position - double(left));
    if (right >= 0)
      hidden = hidden | (position + double(right) < key);
    Term value = e.number(0, DType::F32);
    if (masked) {
      TLM_TRY(value, maskTerm(e));
    }
    TLM_TRY(bias, e.emit(select(hidden, -kInfinity, value)));
    return success();
  }

  /// Rows that may look at nothing are 0, not NaN.
  Result<ValueId> withoutMaskedRows(ValueId weights) {
    if (bias == kNoValue)
      return weights;
    TLM_TRY(ValueId best, emitReduce(node, bias, {3}, Combine::Max));
    const Value &value = node.value(best);
    if (value.isConstant()) {
      bool any = false;
      for (int64_t i = 0; i < countOf(value.dims); ++i)
        any = any || std::isinf(value.constant.as<float>()[i]);
      if (!any)
        return weights;
    }
    Expression e(node, node.dims(weights));
    return e.emit(
        select(equal(e.broadcast(best), -kInfinity), 0, e.element(weights)));
  }

  NodeImporter &node;
  ValueId q = kNoValue, k = kNoValue, v = kNoValue, bias = kNoValue;
  int64_t past = 0;
  bool flat = false;
};

} // namespace

Status tlm::importAttention(NodeImporter &node) {
  return AttentionImporter(node).run();
}

/// Pairs of a head's first elements turned by the angle of their position.
Status tlm::importRotaryEmbedding(NodeImporter &node) {
  ValueId x = node.input(0), cosines = node.input(1), sines = node.input(2);
  const Dims given = node.dims(x);
  bool flat = given.size() == 3;
  int64_t heads = flat ? node.intAttribute("num_heads", 0)
                       : (given.size() == 4 ? given[1] : 0);
  if (heads < 1 || (flat && given[2] % heads != 0))
    return makeError("operand " + dimsText(given) + " with " +
                     std::to_string(heads) + " heads");
  if (flat) { // [B,S,H*D] as [B,S,H,D]
    TLM_TRY(x, node.reshape(x, {given[0], given[1], heads, given[2] / heads}));
  }
  const Dims dims = node.dims(x);
  int64_t size = dims[3];
  int64_t turned = node.intAttribute("rotary_embedding_dim", 0);
  turned = turned == 0 ? size : turned;
  const Dims cache = node.dims(cosines);
  size_t rank = node.hasInput(3) ? 2 : 3;
  if (turned < 2 || turned > size || turned % 2 != 0 || cache.size() != rank ||
      cache.back() != turned / 2 || node.dims(sines) != cache ||
      node.dtype(cosines) != node.dtype(x) ||
      node.dtype(sines) != node.dtype(x))
    return makeError("caches " + dimsText(cache) + " for heads of " +
                     std::to_string(size) + ", " + std::to_string(turned) +
                     " turned");
  int64_t batch = dims[0], length = flat ? dims[1] : dims[2];
  Dims positions = {batch, length};
  if (rank == 2 && (node.dims(node.input(3)) != positions ||
                    node.dtype(node.input(3)) != DType::I64))
    return makeError("position_ids must be i64" + dimsText(positions));
  if (rank == 3 && Dims(cache.begin(), cache.end() - 1) != positions)
    return makeError("caches " + dimsText(cache) + " for positions " +
                     dimsText(positions));

  Expression e(node, dims);
  bool paired = node.intAttribute("interleaved", 0) != 0;
  double half = double(turned / 2);
  Term at = e.loop(3), pair = paired ? at / 2 : at % half;
  Term second = equal(paired ? at % 2 : at / half, 1);
  auto part = [&](Term index) {
    return e.load(x, {e.loop(0), e.loop(1), e.loop(2), index});
  };
  Term a = part(paired ? pair * 2 : pair);
  Term b = part(paired ? pair * 2 + 1 : pair + half);
  Term step = e.loop(flat ? 1 : 2);
  std::vector<Term> place = {e.loop(0), step, pair};
  if (rank == 2)
    place = {e.load(node.input(3), {e.loop(0), step}), pair};
  Term c = e.load(cosines, place), s = e.load(sines, place);
  Term rotated = select(second, s * a + c * b, c * a - s * b);
  Term value = select(at < double(turned), rotated, part(at));
  TLM_TRY(ValueId result, e.emit(value));
  return node.bind(node.reshape(result, given));
}
