// Two spatial dims are the graph's operator. One is made two; three become two
// by joining the taps of the depth to the channels. A transposed convolution is
// one over an input with zeros in between, or, where the windows do not
// overlap, one without spatial extent whose channels are pixels.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"
#include "import/ops/Rearrange.h"
#include "import/ops/WindowAttributes.h"
#include "import/ops/WindowLoops.h"

#include <algorithm>

using namespace tlm;

namespace {

struct Convolution {
  ValueId x, weights, bias = kNoValue;
  std::vector<Window> windows = {};
  int64_t groups = 1;

  std::vector<ValueId> operands() const {
    std::vector<ValueId> ids = {x, weights};
    if (bias != kNoValue)
      ids.push_back(bias);
    return ids;
  }
};

Status checkChannels(NodeImporter &node, const Convolution &conv) {
  const Dims &x = node.dims(conv.x), &w = node.dims(conv.weights);
  int64_t groups = conv.groups;
  bool fits = groups >= 1 && x[1] % groups == 0 && w[0] % groups == 0 &&
              x[1] / groups == w[1];
  if (!fits)
    return makeError("input " + dimsText(x) + ", weights " + dimsText(w) +
                     " and " + std::to_string(groups) +
                     " groups do not agree: weights are [F,C/groups,...]");
  for (size_t i = 0; i < conv.windows.size(); ++i)
    if (conv.windows[i].outputExtent(x[i + 2]) < 1 && x[i + 2] > 0)
      return makeError("the window does not fit dim " + std::to_string(i + 2) +
                       " of " + dimsText(x));
  return success();
}

/// [N,C,L] as [N,C,1,L] and back.
Result<ValueId> convolveLine(NodeImporter &node, Convolution conv) {
  const Dims x = node.dims(conv.x), w = node.dims(conv.weights);
  TLM_TRY(conv.x, node.reshape(conv.x, {x[0], x[1], 1, x[2]}));
  TLM_TRY(conv.weights, node.reshape(conv.weights, {w[0], w[1], 1, w[2]}));
  conv.windows.insert(conv.windows.begin(), Window{});
  TLM_TRY(ValueId y, node.emit(Op::Conv, conv.operands(),
                               ConvAttributes{conv.windows, conv.groups}));
  const Dims result = node.dims(y);
  return node.reshape(y, {result[0], result[1], result[3]});
}

/// x[n, c, d*stride + k*dilation - pad, h, w] at [n*D + d, (g, k, c), h, w].
Result<ValueId> joinDepthTaps(NodeImporter &node, const Convolution &conv,
                              int64_t depth) {
  const Dims x = node.dims(conv.x);
  const Window &along = conv.windows[0];
  int64_t inGroup = x[1] / conv.groups;
  Dims loops = {x[0], depth, conv.groups, along.kernel, inGroup, x[3], x[4]};
  if (!checkedCountOf(loops))
    return makeError("a window of " + dimsText(loops) + " elements");
  Expression e(node, loops);
  Term at = e.loop(1) * double(along.stride) +
            e.loop(3) * double(along.dilation) - double(along.padBegin);
  Term channel = e.loop(2) * double(inGroup) + e.loop(4);
  Term value = e.load(conv.x, {e.loop(0), channel, at, e.loop(5), e.loop(6)});
  TLM_TRY(ValueId taps, e.emit(select(inside(at, x[2]), value, 0)));
  return node.reshape(taps, {x[0] * depth, along.kernel * x[1], x[3], x[4]});
}

Result<ValueId> convolveVolume(NodeImporter &node, Convolution conv) {
  const Dims x = node.dims(conv.x), w = node.dims(conv.weights);
  TLM_TRY_STATUS(checkChannels(node, conv));
  int64_t depth = conv.windows[0].outputExtent(x[2]);
  TLM_TRY(conv.x, joinDepthTaps(node, conv, depth));
  TLM_TRY(ValueId turned, emitTranspose(node, conv.weights, {0, 2, 1, 3, 4}));
  TLM_TRY(conv.weights, node.reshape(turned, {w[0], w[2] * w[1], w[3], w[4]}));
  conv.windows.erase(conv.windows.begin());
  TLM_TRY(ValueId y, node.emit(Op::Conv, conv.operands(),
                               ConvAttributes{conv.windows, conv.groups}));
  const Dims flat = node.dims(y);
  TLM_TRY(ValueId frames,
          node.reshape(y, {x[0], depth, flat[1], flat[2], flat[3]}));
  return emitTranspose(node, frames, {0, 2, 1, 3, 4});
}

Result<ValueId> convolve(NodeImporter &node, const Convolution &conv) {
  switch (conv.windows.size()) {
  case 1:
    return convolveLine(node, conv);
  case 2:
    return node.emit(Op::Conv, conv.operands(),
                     ConvAttributes{conv.windows, conv.groups});
  case 3:
    return convolveVolume(node, conv);
  default:
    return node.unsupported(std::to_string(conv.windows.size()) +
                            " spatial dims");
  }
}

/// Kernel extents of the weights, which kernel_shape may repeat.
Result<Dims> kernelOf(NodeImporter &node, const Dims &w) {
  if (w.size() < 3)
    return makeError("weights " + dimsText(w) + "; [F,C/group,...] is needed");
  Dims kernel(w.begin() + 2, w.end());
  if (node.intsAttribute("kernel_shape", kernel) != kernel)
    return makeError("kernel_shape differs from the weights " + dimsText(w));
  return kernel;
}

Status needF32(NodeImporter &node, std::initializer_list<ValueId> operands) {
  for (ValueId id : operands)
    if (node.dtype(id) != DType::F32)
      return node.unsupported("type " + std::string(nameOf(node.dtype(id))));
  return success();
}

} // namespace

Status tlm::importConv(NodeImporter &node) {
  Convolution conv{node.input(0), node.input(1)};
  TLM_TRY_STATUS(needF32(node, {conv.x, conv.weights}));
  TLM_TRY(Dims kernel, kernelOf(node, node.dims(conv.weights)));
  conv.groups = node.intAttribute("group", 1);
  TLM_TRY(conv.windows, readWindows(node, node.dims(conv.x), kernel));
  if (node.hasInput(2))
    conv.bias = node.input(2);
  return node.bind(convolve(node, conv));
}

namespace {

/// A transposed convolution's windows: pads crop the full result, which may be
/// extended at its end.
struct Transposed {
  std::vector<Window> windows;
  std::vector<int64_t> extra; ///< output_padding
};

/// Pads from output_shape or auto_pad, as ONNX's text has it: the total may be
/// negative, halves round down.
void padForExtent(Window &w, int64_t natural, int64_t wanted, bool upper) {
  int64_t total = natural - wanted;
  int64_t half = total >= 0 ? total / 2 : (total - 1) / 2;
  w.padBegin = upper ? half : total - half;
  w.padEnd = total - w.padBegin;
}

Result<Transposed> readTransposed(NodeImporter &node, const Dims &x,
                                  const Dims &kernel) {
  size_t spatial = kernel.size();
  Transposed result;
  result.extra = node.intsAttribute("output_padding", Dims(spatial, 0));
  auto shape = node.intsAttribute("output_shape", {});
  TLM_TRY(result.windows, readWindows(node, x, kernel));
  if (result.extra.size() != spatial ||
      (!shape.empty() && shape.size() != spatial))
    return makeError("output_padding and output_shape must have " +
                     std::to_string(spatial) + " entries");
  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  for (size_t i = 0; i < spatial; ++i) {
    Window &w = result.windows[i];
    if (result.extra[i] < 0 || result.extra[i] > kMaxWindow)
      return makeError("output_padding " + std::to_string(result.extra[i]));
    int64_t natural = w.stride * (x[i + 2] - 1) + result.extra[i] +
                      w.dilation * (w.kernel - 1) + 1;
    bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!shape.empty() && (shape[i] < 1 || shape[i] > kMaxElements))
      return makeError("output_shape " + dimsText(shape));
    if (!shape.empty())
      padForExtent(w, natural, shape[i], mode == "SAME_UPPER");
    else if (same)
      padForExtent(w, natural, x[i + 2] * w.stride, mode == "SAME_UPPER");
    if (natural - w.padBegin - w.padEnd < 1)
      return makeError("pads leave nothing of dim " + std::to_string(i + 2));
  }
  return result;
}

/// x with zeros between its elements and around them, so that a window of
/// stride 1 yields the result.
Result<ValueId> spread(NodeImporter &node, ValueId x,
                       const Transposed &transposed) {
  const Dims dims = node.dims(x);
  Dims loops = {dims[0], dims[1]};
  for (size_t i = 0; i < transposed.windows.size(); ++i) {
    const Window &w = transposed.windows[i];
    int64_t reach = w.dilation * (w.kernel - 1);
    loops.push_back((dims[i + 2] - 1) * w.stride + 1 + 2 * reach - w.padBegin -
                    w.padEnd + transposed.extra[i]);
  }
  Expression e(node, loops);
  std::vector<Term> indices = e.allLoops();
  Term hit = e.integer(1, DType::Bool);
  for (size_t i = 0; i < transposed.windows.size(); ++i) {
    const Window &w = transposed.windows[i];
    int64_t before = w.dilation * (w.kernel - 1) - w.padBegin;
    Term at = e.loop(i + 2) - double(before);
    Term from = at / double(w.stride);
    hit = hit & (0 <= at) & (from < double(dims[i + 2])) &
          equal(at % double(w.stride), 0);
    indices[i + 2] = from;
  }
  return e.emit(select(hit, e.load(x, indices), 0));
}

/// [C, M/g, k...] as [M, C/g, k...], mirrored.
Result<ValueId> turnWeights(NodeImporter &node, ValueId weights,
                            int64_t groups) {
  const Dims w = node.dims(weights);
  int64_t perGroup = w[0] / groups;
  Dims loops = w;
  loops[0] = w[1] * groups;
  loops[1] = perGroup;
  Expression e(node, loops);
  std::vector<Term> at = e.allLoops();
  Term group = e.loop(0) / double(w[1]);
  at[0] = group * double(perGroup) + e.loop(1);
  at[1] = e.loop(0) % double(w[1]);
  for (size_t i = 2; i < w.size(); ++i)
    at[i] = double(w[i] - 1) - e.loop(i);
  return e.emit(e.load(weights, at));
}

/// Windows side by side: a 1x1 convolution whose channels are (m, kh, kw).
Result<ValueId> convolveTiles(NodeImporter &node, const Convolution &conv) {
  const Dims x = node.dims(conv.x), w = node.dims(conv.weights);
  int64_t outputs = w[1] * w[2] * w[3];
  TLM_TRY(ValueId matrix, node.reshape(conv.weights, {x[1], outputs}));
  TLM_TRY(matrix, emitTranspose(node, matrix, {1, 0}));
  TLM_TRY(matrix, node.reshape(matrix, {outputs, x[1], 1, 1}));
  TLM_TRY(ValueId y, node.emit(Op::Conv, {conv.x, matrix},
                               ConvAttributes{{Window{}, Window{}}, 1}));
  TLM_TRY(y, node.reshape(y, {x[0], w[1], w[2], w[3], x[2], x[3]}));
  TLM_TRY(y, emitTranspose(node, y, {0, 1, 4, 2, 5, 3}));
  TLM_TRY(y, node.reshape(y, {x[0], w[1], x[2] * w[2], x[3] * w[3]}));
  if (conv.bias == kNoValue)
    return y;
  TLM_TRY(ValueId bias, node.reshape(conv.bias, {w[1], 1, 1}));
  return node.emit(Op::Add, {y, bias});
}

/// A stride of s makes s interleaved phases of the result, and each is a plain
/// convolution with every s-th tap: with o + pad = s q + p, result o is the sum
/// over j of x[q - j] w[p + s j]. One convolution yields all phases as channels
/// (m, ph, pw), no multiplication by an inserted zero is left, and a gather
/// puts the phases side by side.
Result<ValueId> convolvePhases(NodeImporter &node, const Convolution &conv,
                               const Transposed &transposed) {
  const Dims x = node.dims(conv.x), w = node.dims(conv.weights);
  int64_t phases = 1;
  std::vector<int64_t> taps, extents;
  std::vector<Window> windows;
  for (size_t i = 0; i < 2; ++i) {
    const Window &t = transposed.windows[i];
    int64_t extent = t.stride * (x[i + 2] - 1) + transposed.extra[i] +
                     t.kernel - t.padBegin - t.padEnd;
    int64_t steps = (extent - 1 + t.padBegin) / t.stride + 1;
    phases *= t.stride;
    taps.push_back((t.kernel + t.stride - 1) / t.stride);
    extents.push_back(extent);
    windows.push_back(
        {taps[i], 1, 1, taps[i] - 1, std::max<int64_t>(0, steps - x[i + 2])});
  }
  const Window &th = transposed.windows[0], &tw = transposed.windows[1];

  Expression weights(node, {w[1] * phases, w[0], taps[0], taps[1]});
  Term filter = weights.loop(0);
  Term kh = filter / double(tw.stride) % double(th.stride) +
            (double(taps[0] - 1) - weights.loop(2)) * double(th.stride);
  Term kw = filter % double(tw.stride) +
            (double(taps[1] - 1) - weights.loop(3)) * double(tw.stride);
  Term present = (kh < double(w[2])) & (kw < double(w[3]));
  Term weight = weights.load(
      conv.weights, {weights.loop(1), filter / double(phases), kh, kw});
  TLM_TRY(ValueId phased, weights.emit(select(present, weight, 0)));
  std::vector<ValueId> inputs = {conv.x, phased};
  if (conv.bias != kNoValue) {
    Expression bias(node, {w[1] * phases});
    TLM_TRY(ValueId repeated,
            bias.emit(bias.load(conv.bias, {bias.loop(0) / double(phases)})));
    inputs.push_back(repeated);
  }
  TLM_TRY(ValueId z, node.emit(Op::Conv, inputs, ConvAttributes{windows, 1}));

  Expression gather(node, {x[0], w[1], extents[0], extents[1]});
  Term h = gather.loop(2) + double(th.padBegin);
  Term v = gather.loop(3) + double(tw.padBegin);
  Term channel = (gather.loop(1) * double(th.stride) + h % double(th.stride)) *
                     double(tw.stride) +
                 v % double(tw.stride);
  return gather.emit(
      gather.load(z, {gather.loop(0), channel, h / double(th.stride),
                      v / double(tw.stride)}));
}

/// Strided in two dims, with weights that can be rearranged now.
bool hasPhases(NodeImporter &node, const Convolution &conv,
               const Transposed &transposed) {
  bool strided = false, fits = transposed.windows.size() == 2;
  for (const Window &w : transposed.windows) {
    strided |= w.stride > 1;
    fits &= w.dilation == 1 && w.padBegin >= 0 && w.stride <= w.kernel;
  }
  return strided && fits && conv.groups == 1 &&
         node.value(conv.weights).isConstant();
}

bool isTiled(const Transposed &transposed) {
  return std::ranges::all_of(transposed.windows,
                             [](const Window &w) {
                               return w.kernel == w.stride && w.dilation == 1 &&
                                      w.padBegin == 0 && w.padEnd == 0;
                             }) &&
         std::ranges::count(transposed.extra, 0) ==
             int64_t(transposed.extra.size());
}

} // namespace

Status tlm::importConvTranspose(NodeImporter &node) {
  Convolution conv{node.input(0), node.input(1)};
  TLM_TRY_STATUS(needF32(node, {conv.x, conv.weights}));
  const Dims x = node.dims(conv.x), w = node.dims(conv.weights);
  TLM_TRY(Dims kernel, kernelOf(node, w));
  conv.groups = node.intAttribute("group", 1);
  if (node.hasInput(2))
    conv.bias = node.input(2);
  TLM_TRY(Transposed transposed, readTransposed(node, x, kernel));
  if (conv.groups < 1 || w[0] != x[1] || w[0] % conv.groups != 0)
    return makeError("input " + dimsText(x) + ", weights " + dimsText(w) +
                     " and " + std::to_string(conv.groups) +
                     " groups do not agree: weights are [C,M/groups,...]");
  if (conv.bias != kNoValue && node.dims(conv.bias) != Dims{w[1] * conv.groups})
    return makeError("bias " + dimsText(node.dims(conv.bias)) + " should be [" +
                     std::to_string(w[1] * conv.groups) + "]");
  if (kernel.size() == 2 && conv.groups == 1 && isTiled(transposed))
    return node.bind(convolveTiles(node, conv));
  if (hasPhases(node, conv, transposed))
    return node.bind(convolvePhases(node, conv, transposed));
  TLM_TRY(conv.x, spread(node, conv.x, transposed));
  TLM_TRY(conv.weights, turnWeights(node, conv.weights, conv.groups));
  for (const Window &w : transposed.windows)
    conv.windows.push_back({w.kernel, 1, w.dilation, 0, 0});
  return node.bind(convolve(node, conv));
}

/// i32 sums of (x - x_zero_point) * (w - w_zero_point).
Status tlm::importConvInteger(NodeImporter &node) {
  ValueId x = node.input(0), w = node.input(1);
  const Dims dims = node.dims(x), weights = node.dims(w);
  TLM_TRY(Dims kernel, kernelOf(node, weights));
  Convolution conv{x, w};
  conv.groups = node.intAttribute("group", 1);
  TLM_TRY(conv.windows, readWindows(node, dims, kernel));
  TLM_TRY_STATUS(checkChannels(node, conv));
  Dims loops = WindowLoops::outputDims(dims, conv.windows);
  loops[1] = weights[0];
  Dims reductions = {weights[1]};
  reductions.insert(reductions.end(), kernel.begin(), kernel.end());
  Expression e(node, loops, reductions);
  Term inChannel = e.reduction(0);
  if (conv.groups > 1) {
    Term group = e.loop(1) / double(weights[0] / conv.groups);
    inChannel = group * double(weights[1]) + inChannel;
  }
  std::vector<Term> at = {e.loop(0), inChannel};
  std::vector<Term> tap = {e.loop(1), e.reduction(0)};
  Term hit = e.integer(1, DType::Bool);
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Window &window = conv.windows[i];
    Term position = e.loop(i + 2) * double(window.stride) +
                    e.reduction(i + 1) * double(window.dilation) -
                    double(window.padBegin);
    hit = hit & inside(position, dims[i + 2]);
    at.push_back(position);
    tap.push_back(e.reduction(i + 1));
  }
  Term value = e.load(x, at).cast(DType::I32);
  Term factor = e.load(w, tap).cast(DType::I32);
  auto zeroPoint = [&](size_t i, Term term) -> Result<Term> {
    if (!node.hasInput(i))
      return term;
    ValueId zero = node.input(i);
    bool one = countOf(node.dims(zero)) == 1;
    if (!one && (i == 2 || node.dims(zero) != Dims{weights[0]}))
      return makeError("a zero point of " + dimsText(node.dims(zero)));
    std::vector<Term> index(node.dims(zero).size(),
                            one ? e.integer(0) : e.loop(1));
    return term - e.load(zero, index).cast(DType::I32);
  };
  TLM_TRY(value, zeroPoint(2, value));
  TLM_TRY(factor, zeroPoint(3, factor));
  return node.bind(
      e.emit(e.reduce(select(hit, value * factor, 0), Combine::Sum)));
}
