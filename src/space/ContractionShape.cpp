#include "space/ContractionShape.h"

using namespace tlm;

// Image, row and pixel strides of a pixel-major buffer.
static std::vector<int64_t> pixelStrides(const BufferType &type) {
  std::vector<int64_t> strides = type.strides();
  if (type.dims.size() == 2)
    return {0, 0, strides[0]};
  return {strides[0], strides[2], strides[3]};
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
  int channel = operand.type.dims.size() == 4   ? 1
                : operand.type.dims.size() == 3 ? 0
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

Result<ContractionShape> ContractionShape::of(const Task &task) {
  ContractionShape shape;
  const Operand &input = *task.find(Role::Input);
  const Operand &weight = *task.find(Role::Weight);
  const BufferType &in = input.type;
  const BufferType &out = task.output().type;
  if (!weight.isConstant)
    return makeError("contraction: weights are not constant");
  if (task.groups != 1)
    return makeError("contraction: grouped convolution");

  std::vector<int64_t> inStrides = in.strides();
  std::vector<int64_t> outPixels = pixelStrides(out);
  std::vector<const BufferType *> activations = {&out};

  if (task.kind == TaskKind::MatMul) {
    shape.width = in.dims[0];
    shape.inputStrides = {0, 0, inStrides[0]};
    shape.filters = out.dims[1];
    shape.outputFilters = out.dims[1];
    shape.weightFilterAxis = task.transposedWeight ? 0 : 1;
    shape.reductions.push_back(
        {in.dims[1], 1, {{task.transposedWeight ? 1 : 0, in.dims[1], 1}}});
    shape.outputStrides = outPixels;
    shape.inputOrigin = in.origin();
    shape.outputOrigin = out.origin();
    return shape;
  }

  if (out.layout != Layout::Nhwc)
    return makeError("contraction: output is not nhwc");
  const Window &wh = task.windows[0], &ww = task.windows[1];
  shape.images = out.dims[0];
  shape.height = out.dims[2];
  shape.width = out.dims[3];
  shape.filters = out.dims[1];
  shape.outputFilters = out.channelStride;
  int64_t rowStride = inStrides[2], pixelStride = inStrides[3],
          channelStride = inStrides[1];
  shape.inputOrigin =
      in.origin() - wh.padBegin * rowStride - ww.padBegin * pixelStride;
  shape.outputOrigin = out.origin();
  shape.inputStrides = {inStrides[0], wh.stride * rowStride,
                        ww.stride * pixelStride};
  shape.outputStrides = outPixels;

  // Reductions, then the pairs that are contiguous merged.
  ReductionDim kh{wh.kernel, wh.dilation * rowStride, {{2, wh.kernel, 1}}};
  ReductionDim kw{ww.kernel, ww.dilation * pixelStride, {{3, ww.kernel, 1}}};
  ReductionDim c{in.dims[1], channelStride, {{1, in.dims[1], 1}}};
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
      std::vector<int64_t> strides = pixelStrides(*type);
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
