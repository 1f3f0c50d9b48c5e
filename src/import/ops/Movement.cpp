// Constants of any type are moved at import; computed tensors by Transpose,
// Concat and Pad of the graph. A slice of step 1 is a Pad that crops.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"

#include <algorithm>
#include <numeric>

using namespace tlm;

namespace {

/// The elements of a constant at first + index * step along each dim.
Constant stridedElements(const Value &value, const Dims &first,
                         const Dims &step, const Dims &dims) {
  Dims strides(value.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * value.dims[i];
  std::vector<int64_t> indices(size_t(countOf(dims)));
  for (size_t e = 0; e < indices.size(); ++e) {
    int64_t rest = int64_t(e);
    for (size_t i = dims.size(); i-- > 0;) {
      indices[e] += (first[i] + rest % dims[i] * step[i]) * strides[i];
      rest /= dims[i];
    }
  }
  return pickElements(value, indices);
}

/// One axis of a slice.
struct Range {
  int64_t first, step, count;
};

/// ONNX's clamping; `step` is not 0.
Range clampRange(int64_t start, int64_t end, int64_t step, int64_t extent) {
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

Result<ValueId> slice(NodeImporter &node, ValueId x,
                      const std::vector<Range> &ranges) {
  const Value &value = node.value(x);
  Dims first, step, dims;
  bool contiguous = true;
  for (const Range &range : ranges) {
    first.push_back(range.first);
    // A lone element needs no step, which may be any number.
    step.push_back(range.count > 1 ? range.step : 1);
    dims.push_back(range.count);
    contiguous = contiguous && step.back() == 1;
  }
  if (value.isConstant())
    return node.constant(value.dtype, dims,
                         stridedElements(value, first, step, dims));
  if (!contiguous)
    return node.unsupported("steps on a computed tensor");
  PadAttributes crop;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t begin = dims[i] == 0 ? 0 : first[i];
    crop.begin.push_back(-begin);
    crop.end.push_back(begin + dims[i] - value.dims[i]);
  }
  return node.emit(Op::Pad, {x}, std::move(crop));
}

} // namespace

Status tlm::importTranspose(NodeImporter &node) {
  const Value value = node.value(node.input(0));
  size_t rank = value.dims.size();
  std::vector<int64_t> reversed(rank);
  for (size_t i = 0; i < rank; ++i)
    reversed[i] = int64_t(rank - 1 - i);
  auto order = node.intsAttribute("perm", reversed);
  std::vector<Dims> operand = {value.dims};
  TLM_TRY(Dims dims, inferShape(Op::Transpose, operand, AxesAttributes{order}));
  if (!value.isConstant() || value.dtype == DType::F32)
    return node.bind(node.emit(Op::Transpose, {node.input(0)},
                               AxesAttributes{std::move(order)}));
  std::vector<int64_t> indices(size_t(countOf(dims)));
  Dims strides(rank, 1);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * value.dims[i];
  for (size_t e = 0; e < indices.size(); ++e) {
    int64_t rest = int64_t(e);
    for (size_t i = rank; i-- > 0;) {
      indices[e] += rest % dims[i] * strides[size_t(order[i])];
      rest /= dims[i];
    }
  }
  return node.bind(
      node.constant(value.dtype, dims, pickElements(value, indices)));
}

Status tlm::importConcat(NodeImporter &node) {
  if (!node.hasAttribute("axis"))
    return makeError("axis is missing");
  TLM_TRY(int64_t axis, node.normaliseAxis(node.intAttribute("axis", 0),
                                           node.rank(node.input(0))));
  AxesAttributes along{{axis}};
  const DType dtype = node.value(node.input(0)).dtype;
  if (!node.allConstant() || dtype == DType::F32)
    return node.bind(node.emit(Op::Concat, node.inputs(), along));

  std::vector<Dims> operands;
  for (ValueId id : node.inputs()) {
    if (node.value(id).dtype != dtype || !holdsInts(dtype))
      return makeError("operand '" + node.value(id).name + "' is " +
                       typeText(node.value(id).dtype, node.dims(id)) +
                       "; integers of one type are joined at import");
    operands.push_back(node.dims(id));
  }
  TLM_TRY(Dims dims, inferShape(Op::Concat, operands, along));
  int64_t outer = 1;
  for (int64_t i = 0; i < axis; ++i)
    outer *= dims[size_t(i)];
  std::vector<int64_t> joined;
  for (int64_t o = 0; o < outer; ++o)
    for (ValueId id : node.inputs()) {
      auto numbers = readInts(node.value(id));
      int64_t chunk = int64_t(numbers.size()) / outer;
      joined.insert(joined.end(), numbers.begin() + o * chunk,
                    numbers.begin() + (o + 1) * chunk);
    }
  return node.bind(node.constant(dtype, dims, writeInts(dtype, joined)));
}

Status tlm::importExpand(NodeImporter &node) {
  if (!node.allConstant())
    return node.unsupported("a computed tensor");
  const Value value = node.value(node.input(0));
  TLM_TRY(Dims shape, node.constantInts(1));
  TLM_TRY(Dims dims, broadcastDims(value.dims, shape));
  auto count = checkedCountOf(dims);
  if (!count || *count * int64_t(sizeof(int64_t)) > kMaxFoldedBytes)
    return makeError("the constant result " + dimsText(dims) +
                     " is larger than 1 GiB");
  return node.bind(
      node.constant(value.dtype, dims,
                    pickElements(value, broadcastIndices(value.dims, dims))));
}

Status tlm::importGather(NodeImporter &node) {
  if (!node.allConstant())
    return node.unsupported("a computed tensor");
  const Value value = node.value(node.input(0));
  const Dims indexDims = node.dims(node.input(1));
  TLM_TRY(int64_t axis, node.normaliseAxis(node.intAttribute("axis", 0),
                                           int64_t(value.dims.size())));
  TLM_TRY(auto indices, node.constantInts(1));
  int64_t extent = value.dims[size_t(axis)], outer = 1, inner = 1;
  for (size_t i = 0; i < value.dims.size(); ++i)
    if (int64_t(i) != axis)
      (int64_t(i) < axis ? outer : inner) *= value.dims[i];
  Dims dims(value.dims.begin(), value.dims.begin() + axis);
  dims.insert(dims.end(), indexDims.begin(), indexDims.end());
  dims.insert(dims.end(), value.dims.begin() + axis + 1, value.dims.end());
  auto count = checkedCountOf(dims);
  if (!count || *count * int64_t(sizeof(int64_t)) > kMaxFoldedBytes)
    return makeError("the constant result " + dimsText(dims) +
                     " is larger than 1 GiB");
  std::vector<int64_t> picked;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices) {
      if (index < -extent || index >= extent)
        return makeError("index " + std::to_string(index) + " is outside [" +
                         std::to_string(-extent) + "," +
                         std::to_string(extent - 1) + "]");
      int64_t row = o * extent + (index < 0 ? index + extent : index);
      for (int64_t i = 0; i < inner; ++i)
        picked.push_back(row * inner + i);
    }
  return node.bind(
      node.constant(value.dtype, dims, pickElements(value, picked)));
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

  std::vector<Range> ranges;
  for (int64_t extent : dims)
    ranges.push_back({0, 1, extent});
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0)
      return makeError("a step of 0");
    size_t axis = size_t(axes[i]);
    ranges[axis] = clampRange(starts[i], ends[i], steps[i], dims[axis]);
  }
  return node.bind(slice(node, x, ranges));
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
  std::vector<Range> ranges;
  for (int64_t each : dims)
    ranges.push_back({0, 1, each});
  for (size_t i = 0, first = 0; i < sizes.size(); first += size_t(sizes[i++])) {
    ranges[size_t(axis)] = {int64_t(first), 1, sizes[i]};
    TLM_TRY(ValueId part, slice(node, x, ranges));
    TLM_TRY_STATUS(node.bind(part, i));
  }
  return success();
}

/// pads: an attribute up to opset 10, an input from 11 on; axes from 18 on.
Status tlm::importPad(NodeImporter &node) {
  ValueId x = node.input(0);
  size_t rank = node.dims(x).size();
  std::string mode = node.stringAttribute("mode", "constant");
  PadAttributes attributes;
  std::vector<int64_t> pads = node.intsAttribute("pads", {});
  attributes.value = node.floatAttribute("value", 0.0f);
  if (node.hasInput(1)) {
    if (!node.value(node.input(1)).isConstant())
      return node.unsupported("pads that are computed from data");
    TLM_TRY(pads, node.constantInts(1));
  }
  if (node.hasInput(2)) {
    TLM_TRY(attributes.value, node.constantScalar(2));
  }
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.hasInput(3)) {
    TLM_TRY(auto named, node.constantInts(3));
    TLM_TRY(axes, node.normaliseAxes(std::move(named), int64_t(rank)));
  }
  if (pads.size() != 2 * axes.size())
    return makeError(std::to_string(pads.size()) + " pads for " +
                     std::to_string(axes.size()) + " axes");
  bool none = std::ranges::count(pads, 0) == int64_t(pads.size());
  if (none)
    return node.bind(x);
  if (mode != "constant")
    return node.unsupported("mode=" + mode);
  attributes.begin.assign(rank, 0);
  attributes.end.assign(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    attributes.begin[size_t(axes[i])] = pads[i];
    attributes.end[size_t(axes[i])] = pads[axes.size() + i];
  }
  return node.bind(node.emit(Op::Pad, {x}, std::move(attributes)));
}
