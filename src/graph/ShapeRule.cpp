#include "graph/ShapeRule.h"

#include <algorithm>
#include <limits>

using namespace tlm;

std::string tlm::dimsText(const Dims &dims) {
  std::string text = "[";
  for (size_t i = 0; i < std::min(dims.size(), kMaxRank); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + (dims.size() > kMaxRank ? ",...]" : "]");
}

std::optional<int64_t> tlm::checkedCountOf(const Dims &dims) {
  if (dims.size() > kMaxRank)
    return std::nullopt;
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (dim > kMaxElements / count)
      return std::nullopt;
    count *= dim;
  }
  return empty ? 0 : count;
}

Result<Dims> tlm::broadcastDims(const Dims &a, const Dims &b) {
  const Dims &longer = a.size() >= b.size() ? a : b;
  const Dims &shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t left = longer[lead + i], right = shorter[i];
    if (left != right && left != 1 && right != 1)
      return makeError("shapes " + dimsText(a) + " and " + dimsText(b) +
                       " do not broadcast");
    result[lead + i] = left == 1 ? right : left;
  }
  return result;
}

namespace {

std::string countText(size_t found, const char *what) {
  return std::to_string(found) + " " + what;
}

/// x's spatial dims under `windows`, behind {N, channels}.
Result<Dims> windowedDims(const Dims &x, const std::vector<Window> &windows,
                          int64_t channels) {
  if (x.size() < 3 || x.size() > 4)
    return makeError("input " + dimsText(x) +
                     ": one or two spatial dims behind [N,C] are supported");
  if (windows.size() != x.size() - 2)
    return makeError("input " + dimsText(x) + " has " +
                     countText(x.size() - 2, "spatial dims, the window has ") +
                     std::to_string(windows.size()));
  Dims result = {x[0], channels};
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window &w = windows[i];
    for (int64_t atLeastOne : {w.kernel, w.stride, w.dilation})
      if (atLeastOne < 1 || atLeastOne > kMaxWindow)
        return makeError("kernel, stride and dilation must be 1.." +
                         std::to_string(kMaxWindow) + ", found " +
                         std::to_string(atLeastOne));
    for (int64_t pad : {w.padBegin, w.padEnd})
      if (pad < 0 || pad > 2 * kMaxWindow)
        return makeError("padding of a window must be 0.." +
                         std::to_string(2 * kMaxWindow) + ", found " +
                         std::to_string(pad));
    int64_t reach = w.dilation * (w.kernel - 1) + 1;
    int64_t extent = x[i + 2] + w.padBegin + w.padEnd;
    if (extent < reach)
      return makeError("a window that spans " + std::to_string(reach) +
                       " does not fit the padded extent " +
                       std::to_string(extent) + " of dim " +
                       std::to_string(i + 2));
    result.push_back(w.outputExtent(x[i + 2]));
  }
  return result;
}

/// Whether the window that starts at `start` has a tap inside [0, extent).
bool touches(const Window &w, int64_t start, int64_t extent) {
  int64_t first = start >= 0 ? 0 : (-start + w.dilation - 1) / w.dilation;
  return first < w.kernel && start + first * w.dilation < extent;
}

Status checkPoolWindows(const Dims &x, const Dims &y,
                        const std::vector<Window> &windows) {
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window &w = windows[i];
    int64_t extent = x[i + 2], count = y[i + 2];
    auto refuse = [&](int64_t index) {
      return makeError("pooling window " + std::to_string(index) + " of dim " +
                       std::to_string(i + 2) +
                       " lies in the padding; every window must touch the "
                       "input");
    };
    // Windows in the middle start and end inside: only the edges can miss.
    for (int64_t o = 0; o < count && o * w.stride < w.padBegin; ++o)
      if (!touches(w, o * w.stride - w.padBegin, extent))
        return refuse(o);
    for (int64_t o = count - 1; o >= 0; --o) {
      int64_t start = o * w.stride - w.padBegin;
      if (start < extent && start >= 0)
        break;
      if (!touches(w, start, extent))
        return refuse(o);
    }
  }
  return success();
}

Result<Dims> convDims(std::span<const Dims> inputs,
                      const ConvAttributes &attributes) {
  if (inputs.size() != 2 && inputs.size() != 3)
    return makeError(countText(inputs.size(), "operands; 2 or 3 are allowed"));
  const Dims &x = inputs[0], &w = inputs[1];
  int64_t groups = attributes.groups;
  if (x.size() != w.size() || x.size() < 3)
    return makeError("input " + dimsText(x) + " and weights " + dimsText(w) +
                     " must have the same rank, 3 or 4");
  if (groups < 1 || x[1] % groups || w[0] % groups || x[1] / groups != w[1])
    return makeError("input " + dimsText(x) + ", weights " + dimsText(w) +
                     " and " + std::to_string(groups) +
                     " groups do not agree: weights are [F,C/groups,...]");
  for (size_t i = 0; i < attributes.windows.size() && i + 2 < w.size(); ++i)
    if (attributes.windows[i].kernel != w[i + 2])
      return makeError("kernel_shape says " +
                       std::to_string(attributes.windows[i].kernel) +
                       ", the weights are " + dimsText(w));
  if (inputs.size() == 3 && inputs[2] != Dims{w[0]})
    return makeError("bias " + dimsText(inputs[2]) + " should be [" +
                     std::to_string(w[0]) + "]");
  return windowedDims(x, attributes.windows, w[0]);
}

Result<Dims> matMulDims(const Dims &a, const Dims &b) {
  if (a.size() < 2 || b.size() < 2)
    return makeError("operands " + dimsText(a) + " and " + dimsText(b) +
                     " must have rank 2 or more");
  if (a.back() != b[b.size() - 2])
    return makeError("inner dims of " + dimsText(a) + " and " + dimsText(b) +
                     " differ");
  auto dims =
      broadcastDims(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  if (!dims)
    return dims.error();
  dims->push_back(a[a.size() - 2]);
  dims->push_back(b.back());
  return dims;
}

Result<Dims> concatDims(std::span<const Dims> inputs, size_t axis) {
  Dims result = inputs[0];
  for (const Dims &dims : inputs.subspan(1)) {
    bool agree = dims.size() == result.size();
    for (size_t i = 0; agree && i < dims.size(); ++i)
      agree = i == axis || dims[i] == result[i];
    if (!agree)
      return makeError("operands " + dimsText(inputs[0]) + " and " +
                       dimsText(dims) + " differ beside axis " +
                       std::to_string(axis));
    result[axis] += dims[axis];
  }
  return result;
}

Result<Dims> padDims(const Dims &x, const PadAttributes &pads) {
  if (pads.begin.size() != x.size() || pads.end.size() != x.size())
    return makeError("pads for " + std::to_string(pads.begin.size()) +
                     " dims on an operand " + dimsText(x));
  Dims result = x;
  for (size_t i = 0; i < x.size(); ++i) {
    for (int64_t pad : {pads.begin[i], pads.end[i]})
      if (pad > kMaxElements || pad < -x[i])
        return makeError("pad " + std::to_string(pad) + " of dim " +
                         std::to_string(i) + " in " + dimsText(x) +
                         "; at least " + std::to_string(-x[i]) + " is allowed");
    result[i] += pads.begin[i] + pads.end[i];
    if (result[i] < 0)
      return makeError("pads crop dim " + std::to_string(i) + " of " +
                       dimsText(x) + " to " + std::to_string(result[i]));
  }
  return result;
}

/// Axes must be distinct and in [0, rank).
Status checkAxes(const std::vector<int64_t> &axes, size_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    if (axis < 0 || size_t(axis) >= rank)
      return makeError("axis " + std::to_string(axis) + " of a rank " +
                       std::to_string(rank) + " operand");
    if (seen[size_t(axis)])
      return makeError("axis " + std::to_string(axis) + " is named twice");
    seen[size_t(axis)] = true;
  }
  return success();
}

Result<Dims> axesDims(Op op, std::span<const Dims> inputs,
                      const std::vector<int64_t> &axes) {
  const Dims &x = inputs[0];
  TLM_TRY_STATUS(checkAxes(axes, x.size()));
  if (op == Op::Transpose) {
    if (axes.size() != x.size())
      return makeError("a permutation of " + std::to_string(axes.size()) +
                       " dims on an operand " + dimsText(x));
    Dims result;
    for (int64_t axis : axes)
      result.push_back(x[size_t(axis)]);
    return result;
  }
  if (op == Op::ReduceMean) {
    Dims result = x;
    for (int64_t axis : axes)
      result[size_t(axis)] = 1;
    return result;
  }
  if (axes.size() != 1)
    return makeError("one axis is allowed, found " +
                     std::to_string(axes.size()));
  return op == Op::Concat ? concatDims(inputs, size_t(axes[0]))
                          : Result<Dims>(x);
}

Result<Dims> normDims(std::span<const Dims> inputs) {
  const Dims &x = inputs[0];
  if (x.empty())
    return makeError("a scalar has no last dim");
  for (const Dims &parameter : inputs.subspan(1))
    if (parameter != Dims{x.back()})
      return makeError("parameter " + dimsText(parameter) + " should be [" +
                       std::to_string(x.back()) + "]");
  return x;
}

/// Heads, positions and head size of a Q, K or V operand; 0 heads when its
/// shape fits neither form.
struct HeadDims {
  int64_t batch = 0, heads = 0, positions = 0, depth = 0;
};
HeadDims headDims(const Dims &x, int64_t heads) {
  if (x.size() == 3 && heads > 0 && x[2] % heads == 0)
    return {x[0], heads, x[1], x[2] / heads};
  if (x.size() == 4 && x[1] == heads)
    return {x[0], heads, x[2], x[3]};
  return {};
}

Result<Dims> attentionDims(std::span<const Dims> inputs,
                           const AttentionAttributes &attributes) {
  if (inputs.size() < 3)
    return makeError("attention takes q, k, v and perhaps a mask");
  HeadDims q = headDims(inputs[0], attributes.heads);
  HeadDims k = headDims(inputs[1], attributes.keyHeads);
  HeadDims v = headDims(inputs[2], attributes.keyHeads);
  if (!q.heads || !k.heads || !v.heads || q.heads % k.heads ||
      q.batch != k.batch || q.batch != v.batch || k.positions != v.positions ||
      q.depth != k.depth)
    return makeError("attention operands " + dimsText(inputs[0]) + ", " +
                     dimsText(inputs[1]) + " and " + dimsText(inputs[2]) +
                     " do not agree");
  if (inputs.size() == 4) {
    Dims scores = {q.batch, q.heads, q.positions, k.positions};
    auto both = broadcastDims(inputs[3], scores);
    if (inputs[3].size() != 4 || !both || *both != scores)
      return makeError("mask " + dimsText(inputs[3]) +
                       " does not broadcast to " + dimsText(scores));
  }
  return Dims{q.batch, q.positions, q.heads * v.depth};
}

size_t maxInputs(Op op) {
  switch (op) {
  case Op::Attention:
    return 4;
  case Op::LayerNorm:
    return 3;
  case Op::RmsNorm:
    return 2;
  case Op::Conv:
    return 3;
  case Op::Concat:
  case Op::Compute:
    return std::numeric_limits<size_t>::max();
  case Op::MatMul:
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::Div:
  case Op::Max:
  case Op::Min:
    return 2;
  default:
    return 1;
  }
}

Result<Dims> dispatch(Op op, std::span<const Dims> inputs,
                      const OpAttributes &attributes) {
  auto missing = [] { return makeError("attributes of another operator"); };
  switch (op) {
  case Op::Conv: {
    auto *conv = std::get_if<ConvAttributes>(&attributes);
    return conv ? convDims(inputs, *conv) : missing();
  }
  case Op::MaxPool:
  case Op::AveragePool: {
    auto *pool = std::get_if<PoolAttributes>(&attributes);
    if (!pool)
      return missing();
    const Dims &x = inputs[0];
    TLM_TRY(Dims y, windowedDims(x, pool->windows, x.size() > 1 ? x[1] : 0));
    TLM_TRY_STATUS(checkPoolWindows(x, y, pool->windows));
    return y;
  }
  case Op::MatMul:
    return matMulDims(inputs[0], inputs[1]);
  case Op::ReduceMean:
  case Op::Softmax:
  case Op::Transpose:
  case Op::Concat: {
    auto *axes = std::get_if<AxesAttributes>(&attributes);
    return axes ? axesDims(op, inputs, axes->axes) : missing();
  }
  case Op::Pad: {
    auto *pad = std::get_if<PadAttributes>(&attributes);
    return pad ? padDims(inputs[0], *pad) : missing();
  }
  case Op::Compute: {
    auto *computation = std::get_if<Computation>(&attributes);
    if (!computation)
      return missing();
    if (!checkedCountOf(computation->reductions))
      return makeError("a reduction over " + dimsText(computation->reductions) +
                       " elements");
    return computation->loops;
  }
  case Op::LayerNorm:
  case Op::RmsNorm:
    return std::get_if<NormAttributes>(&attributes) ? normDims(inputs)
                                                    : missing();
  case Op::Attention: {
    auto *attention = std::get_if<AttentionAttributes>(&attributes);
    return attention ? attentionDims(inputs, *attention) : missing();
  }
  case Op::Clip:
  case Op::HardSigmoid:
  case Op::LeakyRelu:
  case Op::Elu:
    if (!std::get_if<ScalarAttributes>(&attributes))
      return missing();
    return inputs[0];
  case Op::Reshape:
    TLM_CHECK(false) << "the output of a reshape says its dims";
    return missing();
  default:
    return inputs.size() == 2 ? broadcastDims(inputs[0], inputs[1])
                              : Result<Dims>(inputs[0]);
  }
}

} // namespace

Result<Dims> tlm::inferShape(Op op, std::span<const Dims> inputs,
                             const OpAttributes &attributes) {
  size_t most = maxInputs(op);
  size_t least = op == Op::Attention           ? 3
                 : op == Op::RmsNorm           ? 1
                 : most == 2 || op == Op::Conv ? 2
                                               : 1;
  if (inputs.size() < least || inputs.size() > most)
    return makeError(countText(inputs.size(), "operands; ") +
                     std::to_string(least) + (most == least ? "" : " or more") +
                     " are allowed");
  auto dims = dispatch(op, inputs, attributes);
  if (dims && !checkedCountOf(*dims))
    return makeError("the result " + dimsText(*dims) +
                     " has too many elements");
  return dims;
}

Result<DType> tlm::inferType(Op op, std::span<const DType> types,
                             std::span<const Dims> inputs,
                             const OpAttributes &attributes) {
  if (op == Op::Reshape && types.size() == 1)
    return types[0];
  if (op == Op::Compute) {
    auto *computation = std::get_if<Computation>(&attributes);
    if (!computation)
      return makeError("attributes of another operator");
    std::vector<size_t> ranks;
    for (const Dims &dims : inputs)
      ranks.push_back(dims.size());
    std::string broken = computation->verify(
        std::vector<DType>(types.begin(), types.end()), ranks);
    if (!broken.empty())
      return makeError(broken);
    return computation->nodes[size_t(computation->result)].dtype;
  }
  for (DType type : types)
    if (type != DType::F32)
      return makeError("an operand of type " + std::string(nameOf(type)) +
                       "; f32 is needed");
  return DType::F32;
}
