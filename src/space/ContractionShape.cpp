#include "space/ContractionShape.h"

using namespace tlm;

// Image, row and pixel strides of a pixel-major buffer, 0 where it broadcasts
// to the output.
std::vector<int64_t>
ContractionShape::pixelStrides(const BufferType &type) const {
  std::vector<int64_t> strides = type.strides();
  for (size_t i = 0; i < strides.size(); ++i)
    if (type.dims[i] == 1 && i < outputDims.size() && outputDims[i] != 1)
      strides[i] = 0;
  if (type.dims.size() == 2)
    return {0, 0, strides[0]};
  if (type.dims.size() == 3)
    return {strides[0], 0, strides[1]};
  return {strides[0], strides[2], strides[3]};
}

int64_t ContractionShape::depth() const {
  int64_t product = 1;
  for (const ReductionDim &dim : reductions)
    product *= dim.extent;
  return product;
}

int64_t ContractionShape::panelRoom(const Task &task) const {
  if (groups > 1)
    return groupFilters;
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra && !operand.isConstant &&
        !isScalar(operand) && channelAxis(operand) >= 0)
      return filters;
  return outputFilters;
}

int64_t ContractionShape::pairVectors(const Task &task, int64_t lanes) const {
  const ReductionDim &inner = reductions.back();
  bool together = task.operands[size_t(weight)].isConstant && groups == 1 &&
                  joinedGroups == 1 && !weightPerImage &&
                  inner.inputStride == 1 &&
                  inner.weightParts.back().extent % 2 == 0;
  return together ? (2 * filters + lanes - 1) / lanes : 0;
}

int ContractionShape::channelAxis(const Operand &operand) const {
  const std::vector<int64_t> &dims = operand.type.dims;
  int axis = -1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) {
      if (axis >= 0)
        return -1;
      axis = int(i);
    }
  // [F], [1,F], [F,1,1] and [1,F,1,1] all broadcast along the channel.
  if (axis < 0 || dims[size_t(axis)] != filters)
    return -1;
  if (operand.role == Role::Bias)
    return axis;
  bool isImage = outputDims.size() == 4;
  int channel = isImage && dims.size() == 4   ? 1
                : isImage && dims.size() == 3 ? 0
                                              : int(dims.size()) - 1;
  if (channel != axis)
    return -1;
  // A run-time matrix of one row is an activation, not a per-channel vector,
  // but reads the same.
  return axis;
}

bool ContractionShape::isScalar(const Operand &operand) const {
  for (int64_t dim : operand.type.dims)
    if (dim != 1)
      return false;
  return true;
}

std::vector<int64_t>
ContractionShape::activationStrides(const BufferType &type) const {
  std::vector<int64_t> strides = pixelStrides(type);
  if (mergedImages)
    return {0, 0, strides[2]};
  if (mergedRows)
    return {strides[0], 0, strides[2]};
  return strides;
}

bool ContractionShape::hasRoomForLastGroup(const Task &task) const {
  for (const Operand &operand : task.operands) {
    const BufferType &type = operand.type;
    bool isPixels = type.layout == Layout::Nhwc && type.dims.size() == 4;
    if ((operand.role == Role::Input || operand.role == Role::Output) &&
        (!isPixels || type.channelStride <
                          type.dims[1] / task.groups * joinedGroups * groups))
      return false;
    if (operand.role == Role::Extra && !operand.isConstant &&
        !isScalar(operand) &&
        (!isPixels || type.channelStride < groups * groupFilters))
      return false;
  }
  return true;
}

bool ContractionShape::spansFilters(const BufferType &type) const {
  size_t axis = type.dims.size() == 4 ? 1 : type.dims.size() - 1;
  return type.dims[axis] != 1;
}

// MatMul and BatchMatMul: a batch is an image, a row is a pixel.
ContractionShape ContractionShape::ofMatrices(const Task &task,
                                              ContractionShape shape) {
  const BufferType &in = task.operands[0].type;
  const BufferType &out = task.output().type;
  const Operand &weight = task.operands[size_t(shape.weight)];
  size_t rank = out.dims.size();
  int64_t depth = in.dims[rank - 1];
  shape.filters = shape.outputFilters = shape.groupFilters = out.dims[rank - 1];
  shape.width = out.dims[rank - 2];
  shape.images = rank == 3 ? out.dims[0] : 1;
  shape.inputOrigin = in.origin();
  shape.outputOrigin = out.origin();
  shape.inputStrides = {0, 0, depth};
  if (shape.images > 1 && in.dims[0] > 1)
    shape.inputStrides[0] = in.strides()[0];
  shape.outputStrides = {rank == 3 ? out.strides()[0] : 0, 0, shape.filters};
  int32_t depthAxis = int32_t(rank) - (task.transposedWeight ? 1 : 2);
  shape.weightFilterAxis = int32_t(rank) - (task.transposedWeight ? 2 : 1);
  shape.reductions.push_back({depth, 1, {{depthAxis, depth, 1}}});
  shape.weightPerImage = rank == 3 && weight.type.dims[0] > 1;
  if (!weight.isConstant) {
    std::vector<int64_t> strides = weight.type.strides();
    shape.weightStrides = {shape.weightPerImage ? strides[0] : 0,
                           strides[size_t(depthAxis)],
                           strides[size_t(shape.weightFilterAxis)]};
  }
  // Batches that share the right operand are more rows.
  bool merges = !shape.weightPerImage && shape.images > 1 && in.dims[0] > 1;
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra && !shape.isScalar(operand) &&
        shape.channelAxis(operand) < 0) {
      std::vector<int64_t> strides = shape.pixelStrides(operand.type);
      merges &= strides[0] == shape.width * strides[2];
    }
  if (merges) {
    shape.mergedImages = true;
    shape.width *= shape.images;
    shape.images = 1;
    shape.inputStrides[0] = shape.outputStrides[0] = 0;
  }
  return shape;
}

Result<ContractionShape> ContractionShape::of(const Task &task,
                                              int64_t joinedGroups) {
  ContractionShape shape;
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  shape.outputDims = out.dims;
  shape.weight =
      task.kind == TaskKind::BatchMatMul ? 1 : task.indexOf(Role::Weight);
  if (task.kind != TaskKind::Conv && in.dims.back() == 1)
    return makeError("contraction: nothing to reduce");
  if (task.kind != TaskKind::Conv)
    return ofMatrices(task, std::move(shape));
  if (!task.operands[size_t(shape.weight)].isConstant)
    return makeError("contraction: convolution weights are not constant");
  if (out.layout != Layout::Nhwc)
    return makeError("contraction: output is not nhwc");
  std::vector<int64_t> inStrides = in.strides();
  std::vector<int64_t> outPixels = shape.pixelStrides(out);
  const Window &wh = task.windows[0], &ww = task.windows[1];
  shape.images = out.dims[0];
  shape.height = out.dims[2];
  shape.width = out.dims[3];
  shape.filters = out.dims[1];
  shape.outputFilters = out.channelStride;
  shape.joinedGroups = joinedGroups;
  shape.groups = (task.groups + joinedGroups - 1) / joinedGroups;
  shape.groupFilters = shape.filters / task.groups * joinedGroups;
  int64_t channels = in.dims[1] / task.groups * joinedGroups;
  if (task.groups % joinedGroups && !shape.hasRoomForLastGroup(task))
    return makeError("contraction: joined_groups does not divide the groups");
  int64_t rowStride = inStrides[2], pixelStride = inStrides[3],
          channelStride = inStrides[1];
  shape.groupInputStride = channels * channelStride;
  shape.inputOrigin =
      in.origin() - wh.padBegin * rowStride - ww.padBegin * pixelStride;
  shape.outputOrigin = out.origin();
  shape.inputStrides = {inStrides[0], wh.stride * rowStride,
                        ww.stride * pixelStride};
  shape.outputStrides = outPixels;

  // Reductions, then the pairs that are contiguous merged.
  ReductionDim kh{wh.kernel, wh.dilation * rowStride, {{2, wh.kernel, 1}}};
  ReductionDim kw{ww.kernel, ww.dilation * pixelStride, {{3, ww.kernel, 1}}};
  ReductionDim c{channels, channelStride, {{1, channels, 1}}};
  std::vector<ReductionDim> dims = in.layout == Layout::Nhwc
                                       ? std::vector<ReductionDim>{kh, kw, c}
                                       : std::vector<ReductionDim>{c, kh, kw};
  for (const ReductionDim &dim : dims) {
    if (dim.extent == 1)
      continue;
    if (!shape.reductions.empty() &&
        shape.reductions.back().inputStride == dim.extent * dim.inputStride) {
      ReductionDim &previous = shape.reductions.back();
      previous.extent *= dim.extent;
      previous.inputStride = dim.inputStride;
      previous.weightParts.insert(previous.weightParts.end(),
                                  dim.weightParts.begin(),
                                  dim.weightParts.end());
      continue;
    }
    shape.reductions.push_back(dim);
  }
  if (shape.reductions.empty())
    return makeError("contraction: nothing to reduce");

  std::vector<const BufferType *> activations = {&out};
  // Merge pixel loops when every activation allows it.
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra && !shape.isScalar(operand) &&
        shape.channelAxis(operand) < 0) {
      if (operand.type.layout != Layout::Nhwc || operand.type.dims != out.dims)
        return makeError("contraction: an epilogue operand is neither per "
                         "channel nor shaped as the output");
      activations.push_back(&operand.type);
    }
  auto mergeable = [&](int outer, int64_t extent) {
    if (shape.inputStrides[size_t(outer)] !=
        extent * shape.inputStrides[size_t(outer) + 1])
      return false;
    for (const BufferType *type : activations) {
      std::vector<int64_t> strides = shape.pixelStrides(*type);
      if (strides[size_t(outer)] != extent * strides[size_t(outer) + 1])
        return false;
    }
    return true;
  };
  shape.mergedRows = mergeable(1, shape.width);
  if (shape.mergedRows) {
    shape.mergedImages = mergeable(0, shape.height);
    shape.width *= shape.height;
    shape.height = 1;
    shape.inputStrides[1] = 0;
    shape.outputStrides[1] = 0;
    if (shape.mergedImages) {
      shape.width *= shape.images;
      shape.images = 1;
      shape.inputStrides[0] = shape.outputStrides[0] = 0;
    }
  }
  return shape;
}
