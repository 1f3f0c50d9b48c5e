#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"
#include "import/ops/Rearrange.h"

#include <algorithm>
#include <numeric>

using namespace tlm;

namespace {

/// ONNX's clamping; `step` is not 0.
AxisRange clampRange(int64_t start, int64_t end, int64_t step, int64_t extent) {
  auto fromEnd = [&](int64_t i) {
    return i < 0 && i >= -extent ? i + extent : i;
  };
  if (extent == 0)
    return {0, 1, 0};
  start = fromEnd(start);
  end = fromEnd(end);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    int64_t span = std::max<int64_t>(0, end - start);
    return {start, step, span / step + (span % step != 0)};
  }
  start = std::clamp<int64_t>(start, 0, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  int64_t span = std::max<int64_t>(0, start - end);
  uint64_t stride = 0 - uint64_t(step);
  int64_t count = int64_t((uint64_t(span) + stride - 1) / stride);
  if (stride > uint64_t(span))
    count = span > 0;
  return {start, step, count};
}

} // namespace

Status tlm::importTranspose(NodeImporter &node) {
  std::vector<int64_t> reversed(node.dims(node.input(0)).size());
  for (size_t i = 0; i < reversed.size(); ++i)
    reversed[i] = int64_t(reversed.size() - 1 - i);
  return node.bind(
      emitTranspose(node, node.input(0), node.intsAttribute("perm", reversed)));
}

Status tlm::importConcat(NodeImporter &node) {
  if (!node.hasAttribute("axis"))
    return makeError("axis is missing");
  TLM_TRY(int64_t axis, node.normaliseAxis(node.intAttribute("axis", 0),
                                           node.rank(node.input(0))));
  return node.bind(emitConcat(node, node.inputs(), axis));
}

Status tlm::importExpand(NodeImporter &node) {
  ValueId x = node.input(0);
  if (!node.value(node.input(1)).isConstant())
    return node.unsupported("a shape that is computed from data");
  TLM_TRY(Dims shape, node.constantInts(1));
  TLM_TRY(Dims dims, broadcastDims(node.dims(x), shape));
  return node.bind(emitExpand(node, x, dims));
}

Status tlm::importTile(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  if (!node.value(node.input(1)).isConstant())
    return node.unsupported("repeats that are computed from data");
  TLM_TRY(auto repeats, node.constantInts(1));
  if (repeats.size() != dims.size())
    return makeError(std::to_string(repeats.size()) + " repeats for " +
                     dimsText(dims));
  Dims result = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > kMaxElements ||
        (dims[i] > 0 && repeats[i] > kMaxElements / dims[i]))
      return makeError("repeats " + dimsText(repeats) + " of " +
                       dimsText(dims));
    result[i] *= repeats[i];
  }
  if (result == dims)
    return node.bind(x);
  Expression e(node, result);
  std::vector<Term> indices = e.allLoops();
  for (size_t i = 0; i < dims.size(); ++i)
    indices[i] = indices[i] % double(dims[i]);
  return node.bind(e.emit(e.load(x, indices)));
}

/// Attributes up to opset 9, inputs from 10 on.
Status tlm::importSlice(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  std::vector<int64_t> starts, ends, axes, steps;
  if (node.opset() < 10) {
    starts = node.intsAttribute("starts", {});
    ends = node.intsAttribute("ends", {});
    axes = node.intsAttribute("axes", {});
  } else {
    if (!node.hasInput(1) || !node.hasInput(2))
      return makeError("starts and ends are missing");
    for (size_t i = 1; i < node.inputCount(); ++i)
      if (node.hasInput(i) && !node.value(node.input(i)).isConstant())
        return node.unsupported("bounds that are computed from data");
    TLM_TRY(starts, node.constantInts(1));
    TLM_TRY(ends, node.constantInts(2));
    if (node.hasInput(3)) {
      TLM_TRY(axes, node.constantInts(3));
    }
    if (node.hasInput(4)) {
      TLM_TRY(steps, node.constantInts(4));
    }
  }
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size())
    return makeError("starts, ends, axes and steps have different lengths");
  TLM_TRY(axes, node.normaliseAxes(std::move(axes), int64_t(dims.size())));

  std::vector<AxisRange> ranges;
  for (int64_t extent : dims)
    ranges.push_back({0, 1, extent});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0)
      return makeError("a step of 0");
    size_t axis = size_t(axes[i]);
    ranges[axis] = clampRange(starts[i], ends[i], steps[i], dims[axis]);
  }
  return node.bind(emitSlice(node, x, ranges));
}

/// Sizes: an attribute up to opset 12, an input from 13 on; without them equal
/// parts, the last one smaller when num_outputs asks for it (opset 18).
Status tlm::importSplit(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  TLM_TRY(int64_t axis, node.normaliseAxis(node.intAttribute("axis", 0),
                                           int64_t(dims.size())));
  int64_t extent = dims[size_t(axis)], parts = int64_t(node.outputCount());
  std::vector<int64_t> sizes = node.intsAttribute("split", {});
  if (node.hasInput(1)) {
    TLM_TRY(sizes, node.constantInts(1));
  }
  if (sizes.empty()) {
    int64_t size = (extent + parts - 1) / parts, rest = extent;
    if (extent % parts != 0 && !node.hasAttribute("num_outputs"))
      return makeError("dim " + std::to_string(axis) + " of " + dimsText(dims) +
                       " does not split in " + std::to_string(parts) +
                       " equal parts");
    for (int64_t i = 0; i < parts; ++i, rest -= sizes.back())
      sizes.push_back(std::min(size, rest));
  }
  int64_t sum = 0;
  bool good = int64_t(sizes.size()) == parts;
  for (int64_t size : sizes) {
    good = good && size >= 0 && size <= extent - sum;
    sum += good ? size : 0;
  }
  if (!good || sum != extent)
    return makeError("split sizes " + dimsText(sizes) + " for " +
                     std::to_string(parts) + " outputs of dim " +
                     std::to_string(axis) + " of " + dimsText(dims));
  int64_t first = 0;
  for (size_t i = 0; i < sizes.size(); first += sizes[i++]) {
    TLM_TRY(ValueId part, emitSlice(node, x, size_t(axis), first, sizes[i]));
    TLM_TRY_STATUS(node.bind(part, i));
  }
  return success();
}

namespace {

/// Pads per dim: negative ones crop.
struct Pads {
  Dims begin, end;

  Dims apply(Dims dims) const {
    for (size_t i = 0; i < dims.size(); ++i)
      dims[i] += begin[i] + end[i];
    return dims;
  }
};

/// pads: an attribute up to opset 10, an input from 11 on; axes from 18 on.
Result<Pads> readPads(NodeImporter &node) {
  const Dims &dims = node.dims(node.input(0));
  std::vector<int64_t> pads = node.intsAttribute("pads", {});
  if (node.hasInput(1)) {
    if (!node.value(node.input(1)).isConstant())
      return node.unsupported("pads that are computed from data");
    TLM_TRY(pads, node.constantInts(1));
  }
  std::vector<int64_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.hasInput(3)) {
    TLM_TRY(auto named, node.constantInts(3));
    TLM_TRY(axes, node.normaliseAxes(std::move(named), int64_t(dims.size())));
  }
  if (pads.size() != 2 * axes.size())
    return makeError(std::to_string(pads.size()) + " pads for " +
                     std::to_string(axes.size()) + " axes");
  Pads result{Dims(dims.size(), 0), Dims(dims.size(), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    result.begin[size_t(axes[i])] = pads[i];
    result.end[size_t(axes[i])] = pads[axes.size() + i];
  }
  std::vector<Dims> operand = {dims};
  TLM_TRY(Dims checked, inferShape(Op::Pad, operand,
                                   PadAttributes{result.begin, result.end, 0}));
  return result;
}

/// The index of the operand's element that stands at padded position `at`.
Result<Term> sourceIndex(const std::string &mode, Term at, int64_t extent,
                         const AxisRange &padding) {
  int64_t before = padding.first, behind = padding.count;
  if (before <= 0 && behind <= 0)
    return at;
  if (extent == 0)
    return makeError("mode=" + mode + " needs an element to copy");
  if (mode == "edge")
    return least(most(at, 0), double(extent - 1));
  if (mode == "wrap")
    return apply(Scalar::FloorMod, at, double(extent));
  if (std::max(before, behind) >= extent)
    return makeError(
        "mode=reflect pads " + std::to_string(std::max(before, behind)) +
        " elements of " + std::to_string(extent) + "; fewer are allowed");
  Term turned = abs(at);
  return least(turned, 2.0 * double(extent - 1) - turned);
}

Result<ValueId> padByExpression(NodeImporter &node, const std::string &mode,
                                const Pads &pads) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  Expression e(node, pads.apply(dims));
  std::vector<Term> indices;
  Term within = e.integer(1, DType::Bool);
  for (size_t i = 0; i < dims.size(); ++i) {
    Term at = e.loop(i) - double(pads.begin[i]);
    if (mode == "constant") {
      within = within & inside(at, dims[i]);
    } else {
      TLM_TRY(at,
              sourceIndex(mode, at, dims[i], {pads.begin[i], 1, pads.end[i]}));
    }
    indices.push_back(at);
  }
  Term value = e.load(x, indices);
  if (mode != "constant")
    return e.emit(value);
  Term fill = e.number(0, value.dtype());
  if (node.hasInput(2)) {
    ValueId given = node.input(2);
    if (countOf(node.dims(given)) != 1 || node.dtype(given) != value.dtype())
      return makeError("a fill value of " +
                       typeText(node.dtype(given), node.dims(given)));
    fill =
        e.load(given, std::vector<Term>(node.dims(given).size(), e.integer(0)));
  }
  return e.emit(select(within, value, fill));
}

} // namespace

Status tlm::importPad(NodeImporter &node) {
  ValueId x = node.input(0);
  std::string mode = node.stringAttribute("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      mode != "wrap")
    return makeError("mode '" + mode +
                     "'; constant, reflect, edge and wrap are allowed");
  TLM_TRY(Pads pads, readPads(node));
  if (pads.apply(node.dims(x)) == node.dims(x) &&
      std::ranges::count(pads.begin, 0) == int64_t(pads.begin.size()))
    return node.bind(x);
  bool plain = mode == "constant" && node.dtype(x) == DType::F32;
  float fill = node.floatAttribute("value", 0.0f);
  if (plain && node.hasInput(2)) {
    auto number = node.constantNumber(2);
    plain = number.ok() && node.dtype(node.input(2)) == DType::F32;
    if (plain)
      fill = float(*number);
  }
  if (plain)
    return node.bind(
        node.emit(Op::Pad, {x}, PadAttributes{pads.begin, pads.end, fill}));
  return node.bind(padByExpression(node, mode, pads));
}

/// [N,C,H,W] with blocks of channels as blocks of pixels.
Status tlm::importDepthToSpace(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  int64_t b = node.intAttribute("blocksize", 0);
  if (dims.size() != 4 || b < 1 || b > kMaxWindow || dims[1] % (b * b) != 0)
    return makeError("blocksize " + std::to_string(b) + " on an input " +
                     dimsText(dims));
  bool columnRow = node.stringAttribute("mode", "DCR") == "CRD";
  int64_t depth = dims[1] / (b * b);
  Dims split = columnRow ? Dims{dims[0], depth, b, b, dims[2], dims[3]}
                         : Dims{dims[0], b, b, depth, dims[2], dims[3]};
  std::vector<int64_t> order = columnRow
                                   ? std::vector<int64_t>{0, 1, 4, 2, 5, 3}
                                   : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  TLM_TRY(ValueId blocks, node.reshape(x, split));
  TLM_TRY(ValueId moved, emitTranspose(node, blocks, order));
  return node.bind(
      node.reshape(moved, {dims[0], depth, dims[2] * b, dims[3] * b}));
}

Status tlm::importSpaceToDepth(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  int64_t b = node.intAttribute("blocksize", 0);
  if (dims.size() != 4 || b < 1 || b > kMaxWindow || dims[2] % b != 0 ||
      dims[3] % b != 0)
    return makeError("blocksize " + std::to_string(b) + " on an input " +
                     dimsText(dims));
  int64_t h = dims[2] / b, w = dims[3] / b;
  TLM_TRY(ValueId blocks, node.reshape(x, {dims[0], dims[1], h, b, w, b}));
  bool columnRow = node.stringAttribute("mode", "DCR") == "CRD";
  std::vector<int64_t> order = columnRow
                                   ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                                   : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  TLM_TRY(ValueId moved, emitTranspose(node, blocks, order));
  return node.bind(node.reshape(moved, {dims[0], dims[1] * b * b, h, w}));
}

/// The first sequence_lens[b] elements of each row the other way round.
Status tlm::importReverseSequence(NodeImporter &node) {
  ValueId x = node.input(0), lengths = node.input(1);
  const Dims dims = node.dims(x);
  int64_t rank = int64_t(dims.size());
  TLM_TRY(int64_t batch,
          node.normaliseAxis(node.intAttribute("batch_axis", 1), rank));
  TLM_TRY(int64_t time,
          node.normaliseAxis(node.intAttribute("time_axis", 0), rank));
  if (batch == time || node.dtype(lengths) != DType::I64 ||
      node.dims(lengths) != Dims{dims[size_t(batch)]})
    return makeError("batch_axis, time_axis and sequence_lens " +
                     dimsText(node.dims(lengths)) + " do not fit " +
                     dimsText(dims));
  Expression e(node, dims);
  std::vector<Term> indices = e.allLoops();
  Term length = e.load(lengths, {e.loop(size_t(batch))});
  Term at = indices[size_t(time)];
  indices[size_t(time)] = select(at < length, length - 1 - at, at);
  return node.bind(e.emit(e.load(x, indices)));
}

Status tlm::importTrilu(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  if (dims.size() < 2)
    return makeError("operand " + dimsText(dims) + " is no matrix");
  bool upper = node.intAttribute("upper", 1) != 0;
  Expression e(node, dims);
  Term k = e.integer(0);
  if (node.hasInput(1)) {
    ValueId given = node.input(1);
    if (node.dtype(given) != DType::I64 || countOf(node.dims(given)) != 1)
      return makeError("k must be one i64");
    k = e.load(given, std::vector<Term>(node.dims(given).size(), e.integer(0)));
  }
  Term row = e.loop(dims.size() - 2), column = e.loop(dims.size() - 1);
  Term keep = upper ? row <= column - k : column - k <= row;
  return node.bind(e.emit(select(keep, e.element(x), 0)));
}

/// Cuts or pads around the middle; shape[i] is the extent of axes[i].
Status tlm::importCenterCropPad(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  if (!node.value(node.input(1)).isConstant())
    return node.unsupported("a shape that is computed from data");
  TLM_TRY(auto shape, node.constantInts(1));
  std::vector<int64_t> axes(dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  TLM_TRY(axes, node.normaliseAxes(node.intsAttribute("axes", axes),
                                   int64_t(dims.size())));
  if (axes.size() != shape.size())
    return makeError(std::to_string(shape.size()) + " extents for " +
                     std::to_string(axes.size()) + " axes");
  Dims result = dims;
  for (size_t i = 0; i < axes.size(); ++i)
    result[size_t(axes[i])] = shape[i];
  if (!checkedCountOf(result))
    return makeError("an output of " + dimsText(result));
  Expression e(node, result);
  std::vector<Term> at = e.allLoops();
  Term within = e.integer(1, DType::Bool);
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t before = result[i] > dims[i] ? -((result[i] - dims[i]) / 2)
                                         : (dims[i] - result[i]) / 2;
    at[i] = at[i] + double(before);
    within = within & inside(at[i], dims[i]);
  }
  return node.bind(e.emit(select(within, e.load(x, at), 0)));
}
