// Every mode is a short weighted sum along each axis in turn, with the taps'
// places and weights in tables computed here in double.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tlm;

namespace {

struct Mode {
  std::string kind;       ///< nearest, linear, cubic
  std::string coordinate; ///< coordinate_transformation_mode
  std::string nearest;    ///< nearest_mode
  double cubicCoefficient = -0.75;
  double extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

/// One axis: output extent, and how positions map.
struct AxisScale {
  int64_t from, to;
  double scale;
  double roiStart = 0, roiEnd = 1;
};

/// The position in the input of output element `i`.
double sourceOf(const Mode &mode, const AxisScale &axis, int64_t i) {
  double x = double(i), scale = axis.scale, from = double(axis.from);
  double to = scale * from; // need not be whole
  if (mode.coordinate == "asymmetric")
    return x / scale;
  if (mode.coordinate == "align_corners")
    return to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (mode.coordinate == "pytorch_half_pixel")
    return to > 1 ? (x + 0.5) / scale - 0.5 : -0.5;
  if (mode.coordinate == "tf_half_pixel_for_nn")
    return (x + 0.5) / scale;
  if (mode.coordinate == "half_pixel_symmetric") {
    double adjustment = double(axis.to) / to;
    double center = from / 2, offset = center * (1 - adjustment);
    return offset + (x + 0.5) / scale - 0.5;
  }
  if (mode.coordinate == "tf_crop_and_resize")
    return to > 1
               ? axis.roiStart * (from - 1) +
                     x * (axis.roiEnd - axis.roiStart) * (from - 1) / (to - 1)
               : 0.5 * (axis.roiStart + axis.roiEnd) * (from - 1);
  return (x + 0.5) / scale - 0.5; // half_pixel
}

double nearestOf(const Mode &mode, double x) {
  if (mode.nearest == "round_prefer_ceil")
    return std::floor(x + 0.5);
  if (mode.nearest == "floor")
    return std::floor(x);
  if (mode.nearest == "ceil")
    return std::ceil(x);
  return std::ceil(x - 0.5); // round_prefer_floor
}

double cubicWeight(double a, double distance) {
  double d = std::fabs(distance);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2)
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

double weightOf(const Mode &mode, double distance) {
  if (mode.kind == "cubic")
    return cubicWeight(mode.cubicCoefficient, distance);
  return std::max(0.0, 1 - std::fabs(distance));
}

/// Taps of one axis: element i reads `count` places with weights.
struct Taps {
  int64_t count = 1;
  std::vector<int64_t> places; ///< [to, count]
  std::vector<float> weights;  ///< [to, count]
  std::vector<bool> outside;   ///< [to]: extrapolated
};

/// More taps than this an antialiased axis does not get.
constexpr int64_t kMaxTaps = 1024;

/// Longest axis a table is made for.
constexpr int64_t kMaxExtent = int64_t(1) << 20;

bool isKept(const Mode &mode, const AxisScale &axis) {
  return axis.from == axis.to && axis.scale == 1 &&
         mode.coordinate != "tf_crop_and_resize";
}

Taps tapsOf(const Mode &mode, const AxisScale &axis) {
  Taps taps;
  double stretch = 1;
  if (mode.kind == "nearest") {
    taps.count = 1;
  } else {
    if (mode.antialias && axis.scale < 1)
      stretch = 1 / axis.scale;
    double radius = (mode.kind == "cubic" ? 2 : 1) * stretch;
    taps.count = std::min<int64_t>(kMaxTaps, 2 * int64_t(std::ceil(radius)));
  }
  for (int64_t i = 0; i < axis.to; ++i) {
    double x = sourceOf(mode, axis, i);
    taps.outside.push_back(mode.coordinate == "tf_crop_and_resize" &&
                           (x < 0 || x > double(axis.from - 1)));
    double first = mode.kind == "nearest"
                       ? nearestOf(mode, x)
                       : std::floor(x) - double(taps.count / 2 - 1);
    double total = 0;
    std::vector<double> weights;
    for (int64_t k = 0; k < taps.count; ++k) {
      double place = first + double(k);
      double weight =
          mode.kind == "nearest" ? 1 : weightOf(mode, (place - x) / stretch);
      bool within = place >= 0 && place <= double(axis.from - 1);
      if (mode.excludeOutside && !within && mode.kind != "nearest")
        weight = 0;
      weights.push_back(weight);
      total += weight;
      taps.places.push_back(int64_t(
          std::clamp(place, 0.0, double(std::max<int64_t>(axis.from - 1, 0)))));
    }
    bool normalise = mode.excludeOutside || stretch != 1;
    for (double weight : weights)
      taps.weights.push_back(
          float(normalise && total != 0 ? weight / total : weight));
  }
  return taps;
}

Status payFor(NodeImporter &node, const Taps &taps) {
  int64_t count = int64_t(taps.places.size());
  return node.spend(3 * count, count * int64_t(sizeof(int64_t)));
}

ValueId tableOf(NodeImporter &node, Dims dims, std::vector<int64_t> numbers) {
  return node.constant(DType::I64, std::move(dims),
                       makeConstant(std::move(numbers)));
}

/// Sets what lies outside the crop to the extrapolation value.
Term extrapolated(NodeImporter &node, Expression &e, const Mode &mode,
                  const Taps &taps, size_t axis, Term value) {
  if (std::ranges::count(taps.outside, true) == 0)
    return value;
  std::vector<int64_t> marks(taps.outside.begin(), taps.outside.end());
  Dims dims{int64_t(marks.size())};
  Term outside = e.load(tableOf(node, dims, std::move(marks)), {e.loop(axis)});
  return select(equal(outside, 1), mode.extrapolation, value);
}

Result<ValueId> resizeNearest(NodeImporter &node, ValueId x, const Mode &mode,
                              const std::vector<AxisScale> &axes) {
  Dims dims;
  for (const AxisScale &axis : axes)
    dims.push_back(axis.to);
  Expression e(node, dims);
  std::vector<Term> at = e.allLoops();
  std::vector<Taps> taps(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (isKept(mode, axes[i]))
      continue;
    taps[i] = tapsOf(mode, axes[i]);
    TLM_TRY_STATUS(payFor(node, taps[i]));
    std::vector<int64_t> places = taps[i].places, same(places.size());
    int64_t factor = axes[i].from > 0 ? axes[i].to / axes[i].from : 0;
    // A whole factor needs no table.
    for (size_t k = 0; k < same.size() && factor > 0; ++k)
      same[k] = int64_t(k) / factor;
    if (places == same && factor > 0)
      at[i] = at[i] / double(factor);
    else
      at[i] = e.load(tableOf(node, {axes[i].to}, std::move(places)), {at[i]});
  }
  Term value = e.load(x, at);
  for (size_t i = 0; i < axes.size(); ++i)
    value = extrapolated(node, e, mode, taps[i], i, value);
  return e.emit(value);
}

Result<ValueId> resizeAxis(NodeImporter &node, ValueId x, const Mode &mode,
                           size_t at, const AxisScale &axis) {
  Dims dims = node.dims(x);
  dims[at] = axis.to;
  if (!checkedCountOf(dims))
    return makeError("an output of " + dimsText(dims));
  if (axis.to > kMaxExtent ||
      (mode.antialias && double(axis.to) / axis.scale > double(kMaxExtent)))
    return node.unsupported("an axis of " + std::to_string(axis.to) + " from " +
                            std::to_string(axis.from));
  Taps taps = tapsOf(mode, axis);
  TLM_TRY_STATUS(payFor(node, taps));
  ValueId places = tableOf(node, {axis.to, taps.count}, taps.places);
  ValueId weights = node.constant({axis.to, taps.count}, taps.weights);
  Expression e(node, dims);
  Term sum, here = e.loop(at);
  for (int64_t k = 0; k < taps.count; ++k) {
    std::vector<Term> from = e.allLoops();
    from[at] = e.load(places, {here, e.integer(k)});
    Term term = e.load(x, from) * e.load(weights, {here, e.integer(k)});
    sum = k == 0 ? term : sum + term;
  }
  return e.emit(extrapolated(node, e, mode, taps, at, sum));
}

Result<Mode> readMode(NodeImporter &node) {
  Mode mode;
  bool upsample = node.opType() == "Upsample", old = node.opset() < 11;
  mode.kind = node.stringAttribute("mode", "nearest");
  if (mode.kind == "bilinear" || mode.kind == "trilinear")
    mode.kind = "linear";
  mode.coordinate = old || upsample
                        ? "asymmetric"
                        : node.stringAttribute("coordinate_transformation_mode",
                                               "half_pixel");
  mode.nearest = old || upsample ? "floor"
                                 : node.stringAttribute("nearest_mode",
                                                        "round_prefer_floor");
  mode.cubicCoefficient = double(node.floatAttribute("cubic_coeff_a", -0.75f));
  mode.extrapolation = double(node.floatAttribute("extrapolation_value", 0.0f));
  mode.excludeOutside = node.intAttribute("exclude_outside", 0) != 0;
  mode.antialias = node.intAttribute("antialias", 0) != 0;
  auto isOneOf = [](const std::string &name,
                    std::initializer_list<const char *> allowed) {
    return std::ranges::count(allowed, name) != 0;
  };
  if (!isOneOf(mode.kind, {"nearest", "linear", "cubic"}) ||
      !isOneOf(mode.coordinate,
               {"asymmetric", "align_corners", "pytorch_half_pixel",
                "tf_half_pixel_for_nn", "half_pixel_symmetric",
                "tf_crop_and_resize", "half_pixel"}) ||
      !isOneOf(mode.nearest,
               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))
    return node.unsupported("mode=" + mode.kind + ", " + mode.coordinate +
                            ", " + mode.nearest);
  return mode;
}

/// The axes that are named; all by default.
Result<std::vector<int64_t>> readAxes(NodeImporter &node, int64_t rank) {
  std::vector<int64_t> all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return node.normaliseAxes(node.intsAttribute("axes", all), rank);
}

/// Sizes win where both are given; scales are used in the formula when given.
Result<std::vector<AxisScale>> readScales(NodeImporter &node) {
  const Dims dims = node.dims(node.input(0));
  bool upsample = node.opType() == "Upsample", old = node.opset() < 11;
  size_t scalesAt = upsample || old ? 1 : 2, sizesAt = 3;
  TLM_TRY(auto axes, readAxes(node, int64_t(dims.size())));
  std::vector<AxisScale> result;
  for (int64_t extent : dims)
    result.push_back({extent, extent, 1.0});
  std::vector<double> scales, roi;
  for (float each : node.floatsAttribute("scales"))
    scales.push_back(double(each));
  auto computed = [&](size_t i) {
    return node.hasInput(i) && !node.value(node.input(i)).isConstant();
  };
  if (computed(scalesAt) || (!old && (computed(1) || computed(sizesAt))))
    return node.unsupported("scales or sizes that are computed from data");
  if (node.hasInput(scalesAt)) {
    TLM_TRY(scales, node.constantReals(scalesAt));
  }
  if (!upsample && !old && node.hasInput(1)) {
    TLM_TRY(roi, node.constantReals(1));
  }
  std::vector<int64_t> sizes;
  if (!upsample && !old && node.hasInput(sizesAt)) {
    TLM_TRY(sizes, node.constantInts(sizesAt));
  }
  if (sizes.size() != axes.size() && scales.size() != axes.size())
    return makeError(std::to_string(scales.size()) + " scales and " +
                     std::to_string(sizes.size()) + " sizes for " +
                     std::to_string(axes.size()) + " axes");
  std::string policy =
      node.stringAttribute("keep_aspect_ratio_policy", "stretch");
  double common = 0;
  for (size_t i = 0; i < axes.size() && sizes.size() == axes.size(); ++i) {
    double ratio = double(sizes[i]) / double(dims[size_t(axes[i])]);
    bool smaller = policy == "not_larger";
    common =
        i == 0 ? ratio
               : (smaller ? std::min(common, ratio) : std::max(common, ratio));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    AxisScale &axis = result[size_t(axes[i])];
    if (sizes.size() == axes.size()) {
      axis.to = sizes[i];
      axis.scale = double(axis.to) / double(axis.from);
      if (policy != "stretch") {
        axis.scale = common;
        axis.to = int64_t(std::floor(common * double(axis.from) + 0.5));
      }
    } else {
      axis.scale = scales[i];
      double extent = std::floor(double(axis.from) * axis.scale);
      axis.to =
          extent >= 0 && extent < double(kMaxElements) ? int64_t(extent) : -1;
    }
    if (roi.size() == 2 * axes.size()) {
      axis.roiStart = roi[i];
      axis.roiEnd = roi[axes.size() + i];
    }
    if (axis.to < 0 || (axis.to > kMaxExtent && axis.to != axis.from) ||
        !(axis.scale > 0) || (axis.from == 0 && axis.to != 0))
      return makeError("dim " + std::to_string(axes[i]) + " of " +
                       dimsText(dims) + " cannot become " +
                       std::to_string(axis.to));
  }
  return result;
}

} // namespace

Status tlm::importResize(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(Mode mode, readMode(node));
  TLM_TRY(std::vector<AxisScale> axes, readScales(node));
  Dims dims;
  for (const AxisScale &axis : axes)
    dims.push_back(axis.to);
  if (!checkedCountOf(dims))
    return makeError("an output of " + dimsText(dims));
  if (mode.kind == "nearest")
    return node.bind(resizeNearest(node, x, mode, axes));
  if (node.dtype(x) != DType::F32)
    return node.unsupported("type " + std::string(nameOf(node.dtype(x))));
  for (size_t i = 0; i < axes.size(); ++i) {
    if (isKept(mode, axes[i]))
      continue;
    TLM_TRY(x, resizeAxis(node, x, mode, i, axes[i]));
  }
  return node.bind(x);
}
