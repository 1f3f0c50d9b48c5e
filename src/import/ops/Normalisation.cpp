#include "import/ops/Families.h"

#include "graph/ShapeRule.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

/// The four parameters of a batch norm: constant f32 of [channels].
Status checkParameters(NodeImporter &node, int64_t channels) {
  for (size_t i = 1; i < 5; ++i) {
    const Value &value = node.value(node.input(i));
    if (value.dtype != DType::F32 || value.dims != Dims{channels})
      return makeError("input " + std::to_string(i) + " ('" + value.name +
                       "') must be f32[" + std::to_string(channels) +
                       "], found " + typeText(value.dtype, value.dims));
    if (!value.isConstant())
      return node.unsupported("parameters that are computed");
  }
  return success();
}

/// [C] as [C,1,...] under an operand of `rank`.
Result<ValueId> perChannel(NodeImporter &node, ValueId value, int64_t rank) {
  Dims dims(size_t(rank - 1), 1);
  dims[0] = node.dims(value).empty() ? 0 : node.dims(value)[0];
  return node.reshape(value, dims);
}

/// (x - mean(x)) / sqrt(variance(x) + epsilon) over `axes`.
Result<ValueId> standardise(NodeImporter &node, ValueId x,
                            const std::vector<int64_t> &axes, float epsilon) {
  AxesAttributes over{axes};
  TLM_TRY(ValueId mean, node.emit(Op::ReduceMean, {x}, over));
  TLM_TRY(ValueId centred, node.emit(Op::Sub, {x, mean}));
  TLM_TRY(ValueId squares, node.emit(Op::Mul, {centred, centred}));
  TLM_TRY(ValueId variance, node.emit(Op::ReduceMean, {squares}, over));
  ValueId small = node.constant({}, {epsilon});
  TLM_TRY(ValueId shifted, node.emit(Op::Add, {variance, small}));
  TLM_TRY(ValueId deviation, node.emit(Op::Sqrt, {shifted}));
  return node.emit(Op::Div, {centred, deviation});
}

} // namespace

/// One scale and one shift per channel, computed in double. foldScales merges
/// them into a convolution in front.
Status tlm::importBatchNormalization(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0));
  if (x.size() < 2)
    return makeError("input " + dimsText(x) + " has no channel dim");
  if (node.intAttribute("training_mode", 0) != 0)
    return node.unsupported("training_mode=1");
  if (node.opset() < 9 && node.intAttribute("spatial", 1) == 0)
    return node.unsupported("spatial=0");
  TLM_TRY_STATUS(checkParameters(node, x[1]));

  auto parameter = [&](size_t i) {
    return node.value(node.input(i)).constant.as<float>();
  };
  const float *gamma = parameter(1), *beta = parameter(2);
  const float *mean = parameter(3), *variance = parameter(4);
  double epsilon = double(node.floatAttribute("epsilon", 1e-5f));
  size_t channels = size_t(x[1]);
  std::vector<float> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    double factor = double(gamma[c]) / std::sqrt(double(variance[c]) + epsilon);
    scale[c] = float(factor);
    shift[c] = float(double(beta[c]) - double(mean[c]) * factor);
  }
  Dims dims(x.size() - 1, 1);
  dims[0] = x[1];
  ValueId factor = node.constant(dims, std::move(scale));
  ValueId summand = node.constant(dims, std::move(shift));
  TLM_TRY(ValueId scaled, node.emit(Op::Mul, {node.input(0), factor}));
  return node.bind(node.emit(Op::Add, {scaled, summand}));
}

Status tlm::importInstanceNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  if (rank < 3)
    return makeError("input " + dimsText(node.dims(x)) +
                     " has no spatial dims behind [N,C]");
  for (size_t i : {size_t(1), size_t(2)})
    if (node.dims(node.input(i)) != Dims{node.dims(x)[1]})
      return makeError("scale and bias must be [" +
                       std::to_string(node.dims(x)[1]) + "], found " +
                       dimsText(node.dims(node.input(i))));
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < rank; ++axis)
    axes.push_back(axis);
  TLM_TRY(ValueId result,
          standardise(node, x, axes, node.floatAttribute("epsilon", 1e-5f)));
  TLM_TRY(ValueId scale, perChannel(node, node.input(1), rank));
  TLM_TRY(ValueId bias, perChannel(node, node.input(2), rank));
  TLM_TRY(result, node.emit(Op::Mul, {result, scale}));
  return node.bind(node.emit(Op::Add, {result, bias}));
}

Status tlm::importLayerNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  TLM_TRY(int64_t first,
          node.normaliseAxis(node.intAttribute("axis", -1), rank));
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  TLM_TRY(ValueId result,
          standardise(node, x, axes, node.floatAttribute("epsilon", 1e-5f)));
  TLM_TRY(result, node.emit(Op::Mul, {result, node.input(1)}));
  if (node.hasInput(2)) {
    TLM_TRY(result, node.emit(Op::Add, {result, node.input(2)}));
  }
  return node.bind(result);
}

/// x / (bias + alpha / size * sum of x^2 over neighbouring channels)^beta. The
/// sum is a 1x1 convolution with a band matrix, the power two square roots.
Status tlm::importLrn(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims &dims = node.dims(x);
  int64_t size = node.intAttribute("size", 0);
  float alpha = node.floatAttribute("alpha", 1e-4f);
  float beta = node.floatAttribute("beta", 0.75f);
  float bias = node.floatAttribute("bias", 1.0f);
  if (size < 1)
    return makeError("size is " + std::to_string(size) +
                     "; at least 1 is "
                     "allowed");
  if (dims.size() != 4 || dims[1] > 4096)
    return node.unsupported("an input that is not [N,C,H,W], C up to 4096");
  if (beta != 0.5f && beta != 0.75f && beta != 1.0f)
    return node.unsupported("beta other than 0.5, 0.75 and 1");

  int64_t channels = dims[1];
  std::vector<float> band(size_t(channels * channels), 0.0f);
  for (int64_t c = 0; c < channels; ++c) {
    int64_t last = std::min(channels - 1, c + size / 2);
    int64_t begin = std::max<int64_t>(0, c - (size - 1) / 2);
    for (int64_t k = begin; k <= last; ++k)
      band[size_t(c * channels + k)] = alpha / float(size);
  }
  ValueId weights = node.constant({channels, channels, 1, 1}, std::move(band));
  ValueId shift =
      node.constant({channels}, std::vector<float>(size_t(channels), bias));
  TLM_TRY(ValueId squares, node.emit(Op::Mul, {x, x}));
  TLM_TRY(ValueId sums, node.emit(Op::Conv, {squares, weights, shift},
                                  ConvAttributes{{Window{}, Window{}}, 1}));
  ValueId power = sums;
  if (beta != 1.0f) {
    TLM_TRY(power, node.emit(Op::Sqrt, {sums}));
  }
  if (beta == 0.75f) {
    TLM_TRY(ValueId root, node.emit(Op::Sqrt, {power}));
    TLM_TRY(power, node.emit(Op::Mul, {power, root}));
  }
  return node.bind(node.emit(Op::Div, {x, power}));
}
