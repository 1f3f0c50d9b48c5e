// Reading between the pixels at computed positions, and patches back in place.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"

#include <algorithm>
#include <numeric>

using namespace tlm;

namespace {

struct Grid {
  bool aligned = false;
  std::string padding; ///< zeros, border, reflection
};

/// From [-1, 1] to pixels.
Term pixelOf(Term position, int64_t extent, bool aligned) {
  double size = double(extent);
  if (aligned)
    return (position + 1) / 2 * (size - 1);
  return ((position + 1) * size - 1) / 2;
}

/// A position mirrored until it lies inside the image.
Term reflected(Term x, int64_t extent, bool aligned) {
  double low = aligned ? 0 : -0.5;
  double range = aligned ? double(extent - 1) : double(extent);
  if (range <= 0)
    return x * 0;
  Term away = abs(x - low);
  Term within = apply(Scalar::Remainder, away, range);
  Term flips = floor(away / range);
  Term odd = equal(apply(Scalar::Remainder, flips, 2.0), 1);
  return select(odd, low + range - within, within + low);
}

/// The pixel at whole positions, as the padding mode says.
Term pixelAt(Expression &e, ValueId x, const std::vector<Term> &positions,
             const Dims &dims, const Grid &grid) {
  std::vector<Term> at = {e.loop(0), e.loop(1)};
  Term within = e.integer(1, DType::Bool);
  for (size_t i = 0; i < positions.size(); ++i) {
    Term position = positions[i];
    int64_t extent = dims[i + 2];
    if (grid.padding == "border")
      position = least(most(position, 0), double(extent - 1));
    else if (grid.padding == "reflection")
      position = reflected(position, extent, grid.aligned);
    else
      within = within & (0 <= position) & (position <= double(extent - 1));
    at.push_back(round(position).cast(DType::I64));
  }
  Term value = e.load(x, at);
  return grid.padding == "zeros" ? select(within, value, 0) : value;
}

/// Weights of the four pixels around `t` in [0,1), with a = -0.75.
Term cubicWeight(Term t, int tap) {
  constexpr double a = -0.75;
  Term d = tap < 2 ? t + double(1 - tap) : double(tap - 1) - t;
  if (tap == 1 || tap == 2)
    return ((d * (a + 2) - (a + 3)) * d) * d + 1;
  return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
}

/// Sums weighted pixels over all taps of all axes.
Term interpolated(Expression &e, ValueId x, const std::vector<Term> &positions,
                  const Dims &dims, const Grid &grid, bool cubic) {
  size_t axes = positions.size(), taps = cubic ? 4 : 2;
  size_t count = 1;
  for (size_t i = 0; i < axes; ++i)
    count *= taps;
  Term sum;
  for (size_t k = 0; k < count; ++k) {
    std::vector<Term> at;
    Term weight = e.number(1, positions[0].dtype());
    for (size_t i = 0, rest = k; i < axes; ++i, rest /= taps) {
      int tap = int(rest % taps);
      Term first = floor(positions[i]), t = positions[i] - first;
      at.push_back(first + double(cubic ? tap - 1 : tap));
      weight = weight * (cubic ? cubicWeight(t, tap) : (tap ? t : 1 - t));
    }
    Term term = pixelAt(e, x, at, dims, grid) * weight;
    sum = k == 0 ? term : sum + term;
  }
  return sum;
}

} // namespace

Status tlm::importGridSample(NodeImporter &node) {
  ValueId x = node.input(0), positions = node.input(1);
  const Dims dims = node.dims(x), at = node.dims(positions);
  size_t axes = dims.size() - std::min<size_t>(dims.size(), 2);
  bool fits = axes >= 1 && axes <= 3 && at.size() == dims.size() &&
              at[0] == dims[0] && at.back() == int64_t(axes) &&
              isFloat(node.dtype(x)) && node.dtype(positions) == node.dtype(x);
  if (!fits || countOf(dims) == 0)
    return makeError("a grid of " + dimsText(at) + " for " +
                     typeText(node.dtype(x), dims));
  Grid grid{node.intAttribute("align_corners", 0) != 0,
            node.stringAttribute("padding_mode", "zeros")};
  std::string mode = node.stringAttribute("mode", "linear");
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.substr(2);
  if ((mode != "linear" && mode != "nearest" && mode != "cubic") ||
      (mode == "cubic" && axes > 2))
    return node.unsupported("mode=" + mode);
  Dims result = {dims[0], dims[1]};
  result.insert(result.end(), at.begin() + 1, at.end() - 1);
  Expression e(node, result);
  std::vector<Term> pixels;
  for (size_t i = 0; i < axes; ++i) {
    std::vector<Term> place = {e.loop(0)};
    for (size_t k = 0; k < axes; ++k)
      place.push_back(e.loop(k + 2));
    place.push_back(e.integer(int64_t(axes - 1 - i))); // x comes first
    Term pixel = pixelOf(e.load(positions, place), dims[i + 2], grid.aligned);
    if (grid.padding == "border" && mode != "cubic")
      pixel = least(most(pixel, 0), double(dims[i + 2] - 1));
    else if (grid.padding == "reflection" && mode != "cubic")
      pixel = reflected(pixel, dims[i + 2], grid.aligned);
    pixels.push_back(mode == "nearest" ? round(pixel) : pixel);
  }
  return node.bind(
      e.emit(mode == "nearest"
                 ? pixelAt(e, x, pixels, dims, grid)
                 : interpolated(e, x, pixels, dims, grid, mode == "cubic")));
}

/// theta [N,2,3] or [N,3,4] times the positions of a regular grid.
Status tlm::importAffineGrid(NodeImporter &node) {
  ValueId theta = node.input(0);
  if (!node.value(node.input(1)).isConstant())
    return node.unsupported("a size that is computed from data");
  TLM_TRY(Dims size, node.constantInts(1));
  const Dims dims = node.dims(theta);
  int64_t axes = int64_t(size.size()) - 2;
  if ((axes != 2 && axes != 3) || dims != Dims{size[0], axes, axes + 1} ||
      !isFloat(node.dtype(theta)))
    return makeError("theta " + dimsText(dims) + " for a size of " +
                     dimsText(size));
  bool aligned = node.intAttribute("align_corners", 0) != 0;
  Dims result = {size[0]};
  result.insert(result.end(), size.begin() + 2, size.end());
  result.push_back(axes);
  if (!checkedCountOf(result))
    return makeError("a size of " + dimsText(size));
  Expression e(node, result);
  Term row = e.loop(size_t(axes) + 1);
  Term sum = e.load(theta, {e.loop(0), row, e.integer(axes)});
  for (int64_t i = 0; i < axes; ++i) { // x, which is the last dim, first
    size_t at = size_t(axes - i);
    double extent = double(result[at]);
    Term index = e.loop(at).cast(sum.dtype());
    Term position =
        aligned ? (extent > 1 ? index * (2 / (extent - 1)) - 1 : index * 0)
                : (index * 2 + 1) / extent - 1;
    sum = sum + e.load(theta, {e.loop(0), row, e.integer(i)}) * position;
  }
  return node.bind(e.emit(sum));
}

/// Sums columns of patches where they overlap in the image.
Status tlm::importCol2Im(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  TLM_TRY(Dims image, node.constantInts(1));
  TLM_TRY(Dims block, node.constantInts(2));
  size_t axes = image.size();
  auto strides = node.intsAttribute("strides", Dims(axes, 1));
  auto dilations = node.intsAttribute("dilations", Dims(axes, 1));
  auto pads = node.intsAttribute("pads", Dims(2 * axes, 0));
  bool fits = dims.size() == 3 && axes >= 1 && block.size() == axes &&
              strides.size() == axes && dilations.size() == axes &&
              pads.size() == 2 * axes && checkedCountOf(image) &&
              checkedCountOf(block) && countOf(block) > 0 &&
              dims[1] % countOf(block) == 0;
  Dims counts;
  for (size_t i = 0; fits && i < axes; ++i) {
    Window w{block[i], strides[i], dilations[i], pads[i], pads[axes + i]};
    for (int64_t number : {w.stride, w.dilation})
      fits = fits && number >= 1 && number <= kMaxWindow;
    for (int64_t number : {w.padBegin, w.padEnd})
      fits = fits && number >= 0 && number <= kMaxWindow;
    if (fits)
      counts.push_back(w.outputExtent(image[i]));
  }
  if (!fits || !checkedCountOf(counts) || countOf(counts) != dims[2])
    return makeError("columns " + dimsText(dims) + " of blocks " +
                     dimsText(block) + " for an image " + dimsText(image));
  Dims loops = {dims[0], dims[1] / countOf(block)};
  loops.insert(loops.end(), image.begin(), image.end());
  Expression e(node, loops, block);
  Term channel = e.loop(1), column = e.integer(0);
  Term hit = e.integer(1, DType::Bool);
  for (size_t i = 0; i < axes; ++i) {
    Term offset =
        e.loop(i + 2) + double(pads[i]) - e.reduction(i) * double(dilations[i]);
    Term at = offset / double(strides[i]);
    hit = hit & (0 <= offset) & equal(offset % double(strides[i]), 0) &
          (at < double(counts[i]));
    channel = channel * double(block[i]) + e.reduction(i);
    column = column * double(counts[i]) + at;
  }
  Term value = e.load(x, {e.loop(0), channel, column});
  return node.bind(e.emit(e.reduce(select(hit, value, 0), Combine::Sum)));
}

namespace {

/// cos or sin of 2 pi k / n.
ValueId waveTable(NodeImporter &node, int64_t n, bool sine, DType dtype) {
  Expression e(node, {n});
  Term angle = e.loop(0).cast(DType::F64) * (6.283185307179586 / double(n));
  auto made =
      e.emit(apply(sine ? Scalar::Sin : Scalar::Cos, angle).cast(dtype));
  return *made; // a constant: nothing to refuse
}

} // namespace

/// The transform as the sum that defines it.
Status tlm::importDft(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  bool inverse = node.intAttribute("inverse", 0) != 0;
  bool onesided = node.intAttribute("onesided", 0) != 0;
  int64_t named = node.intAttribute("axis", node.opset() < 20 ? 1 : -2);
  if (node.hasInput(2)) {
    TLM_TRY(double number, node.constantNumber(2));
    if (!(number > -100 && number < 100))
      return makeError("an axis of " + std::to_string(number));
    named = int64_t(number);
  }
  int64_t rank = int64_t(dims.size());
  if (rank < 2 || (dims.back() != 1 && dims.back() != 2) ||
      !isFloat(node.dtype(x)))
    return makeError("operand " + typeText(node.dtype(x), dims) +
                     "; a last dim of 1 or 2 is needed");
  TLM_TRY(int64_t axis, node.normaliseAxis(named, rank));
  if (axis == rank - 1)
    return makeError("the axis of real and imaginary parts");
  size_t along = size_t(axis), last = dims.size() - 1;
  int64_t n = dims[along];
  if (node.hasInput(1)) {
    TLM_TRY(double length, node.constantNumber(1));
    n = length >= 1 && length <= double(kMaxWindow) ? int64_t(length) : 0;
  }
  if (n < 1 || n > 8192 || (onesided && inverse))
    return node.unsupported("a transform of " + std::to_string(n) +
                            " elements, onesided=" + std::to_string(onesided) +
                            ", inverse=" + std::to_string(inverse));
  Dims result = dims;
  result[along] = onesided ? n / 2 + 1 : n;
  result[last] = 2;
  DType dtype = node.dtype(x);
  ValueId cosines = waveTable(node, n, false, dtype);
  ValueId sines = waveTable(node, n, true, dtype);
  Expression e(node, result, {n});
  Term phase = (e.loop(along) * e.reduction(0)) % double(n);
  Term c = e.load(cosines, {phase}), s = e.load(sines, {phase});
  if (inverse)
    s = -s;
  std::vector<Term> at = e.allLoops();
  at[along] = e.reduction(0);
  at[last] = e.integer(0);
  Term real = e.load(x, at), imaginary = e.number(0, dtype);
  if (dims.back() == 2) {
    at[last] = e.integer(1);
    imaginary = e.load(x, at);
  }
  Term product = select(equal(e.loop(last), 0), c * real + s * imaginary,
                        c * imaginary - s * real);
  Term sum = e.reduce(select(e.reduction(0) < double(dims[along]), product, 0),
                      Combine::Sum);
  return node.bind(e.emit(inverse ? sum / double(n) : sum));
}
