#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Reducing.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

/// [C] as [C,1,...] under an operand of `rank`.
Result<ValueId> perChannel(NodeImporter &node, ValueId value, int64_t rank) {
  Dims dims(size_t(rank - 1), 1);
  dims[0] = node.dims(value).empty() ? 0 : node.dims(value)[0];
  return node.reshape(value, dims);
}

/// What a normalisation yields, and the statistics that it is made of.
struct Standardised {
  ValueId result, mean, deviation;
};

/// (x - mean(x)) / sqrt(variance(x) + epsilon) over `axes`.
Result<Standardised> standardise(NodeImporter &node, ValueId x,
                                 const std::vector<int64_t> &axes,
                                 float epsilon) {
  AxesAttributes over{axes};
  Standardised made{};
  TLM_TRY(made.mean, node.emit(Op::ReduceMean, {x}, over));
  TLM_TRY(ValueId centred, node.emit(Op::Sub, {x, made.mean}));
  TLM_TRY(ValueId squares, node.emit(Op::Mul, {centred, centred}));
  TLM_TRY(ValueId variance, node.emit(Op::ReduceMean, {squares}, over));
  ValueId small = node.constant({}, {epsilon});
  TLM_TRY(ValueId shifted, node.emit(Op::Add, {variance, small}));
  TLM_TRY(made.deviation, node.emit(Op::Sqrt, {shifted}));
  TLM_TRY(made.result, node.emit(Op::Div, {centred, made.deviation}));
  return made;
}

std::vector<int64_t> axesFrom(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

/// Scale and bias of one number per channel.
Status checkPerChannel(NodeImporter &node, int64_t channels) {
  for (size_t i : {size_t(1), size_t(2)})
    if (node.dims(node.input(i)) != Dims{channels})
      return makeError("scale and bias must be [" + std::to_string(channels) +
                       "], found " + dimsText(node.dims(node.input(i))));
  return success();
}

Result<ValueId> scaleChannels(NodeImporter &node, ValueId x) {
  TLM_TRY(ValueId scale, perChannel(node, node.input(1), node.rank(x)));
  TLM_TRY(ValueId bias, perChannel(node, node.input(2), node.rank(x)));
  TLM_TRY(ValueId result, node.emit(Op::Mul, {x, scale}));
  return node.emit(Op::Add, {result, bias});
}

/// One scale and one shift per channel, computed in double. foldScales merges
/// them into a convolution in front.
Result<ValueId> normaliseByConstants(NodeImporter &node, ValueId x,
                                     float epsilon) {
  auto parameter = [&](size_t i) {
    return node.value(node.input(i)).constant.as<float>();
  };
  const float *gamma = parameter(1), *beta = parameter(2);
  const float *mean = parameter(3), *variance = parameter(4);
  size_t channels = size_t(node.dims(x)[1]);
  std::vector<float> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    double factor =
        double(gamma[c]) / std::sqrt(double(variance[c]) + double(epsilon));
    scale[c] = float(factor);
    shift[c] = float(double(beta[c]) - double(mean[c]) * factor);
  }
  Dims dims(node.dims(x).size() - 1, 1);
  dims[0] = node.dims(x)[1];
  ValueId factor = node.constant(dims, std::move(scale));
  ValueId summand = node.constant(dims, std::move(shift));
  TLM_TRY(ValueId scaled, node.emit(Op::Mul, {x, factor}));
  return node.emit(Op::Add, {scaled, summand});
}

/// The same of parameters that are computed.
Result<ValueId> normaliseByValues(NodeImporter &node, ValueId x,
                                  float epsilon) {
  int64_t rank = node.rank(x);
  TLM_TRY(ValueId mean, perChannel(node, node.input(3), rank));
  TLM_TRY(ValueId variance, perChannel(node, node.input(4), rank));
  ValueId small = node.constant({}, {epsilon});
  TLM_TRY(ValueId shifted, node.emit(Op::Add, {variance, small}));
  TLM_TRY(ValueId deviation, node.emit(Op::Sqrt, {shifted}));
  TLM_TRY(ValueId centred, node.emit(Op::Sub, {x, mean}));
  TLM_TRY(ValueId result, node.emit(Op::Div, {centred, deviation}));
  return scaleChannels(node, result);
}

} // namespace

Status tlm::importBatchNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  if (dims.size() < 2)
    return makeError("input " + dimsText(dims) + " has no channel dim");
  if (node.intAttribute("training_mode", 0) != 0)
    return node.unsupported("training_mode=1");
  if (node.opset() < 9 && node.intAttribute("spatial", 1) == 0)
    return node.unsupported("spatial=0");
  bool constant = true;
  for (size_t i = 1; i < 5; ++i) {
    const Value &value = node.value(node.input(i));
    if (value.dtype != DType::F32 || value.dims != Dims{dims[1]})
      return makeError("input " + std::to_string(i) + " ('" + value.name +
                       "') must be f32[" + std::to_string(dims[1]) +
                       "], found " + typeText(value.dtype, value.dims));
    constant = constant && value.isConstant();
  }
  float epsilon = node.floatAttribute("epsilon", 1e-5f);
  return node.bind(constant ? normaliseByConstants(node, x, epsilon)
                            : normaliseByValues(node, x, epsilon));
}

Status tlm::importInstanceNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  if (rank < 3)
    return makeError("input " + dimsText(node.dims(x)) +
                     " has no spatial dims behind [N,C]");
  TLM_TRY_STATUS(checkPerChannel(node, node.dims(x)[1]));
  TLM_TRY(Standardised made,
          standardise(node, x, axesFrom(2, rank),
                      node.floatAttribute("epsilon", 1e-5f)));
  return node.bind(scaleChannels(node, made.result));
}

/// Also yields the mean and one over the deviation.
Status tlm::importLayerNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  TLM_TRY(int64_t first,
          node.normaliseAxis(node.intAttribute("axis", -1), rank));
  TLM_TRY(Standardised made,
          standardise(node, x, axesFrom(first, rank),
                      node.floatAttribute("epsilon", 1e-5f)));
  TLM_TRY(ValueId result, node.emit(Op::Mul, {made.result, node.input(1)}));
  if (node.hasInput(2)) {
    TLM_TRY(result, node.emit(Op::Add, {result, node.input(2)}));
  }
  if (node.dims(result) != node.dims(x))
    return makeError("scale or bias do not broadcast to " +
                     dimsText(node.dims(x)));
  TLM_TRY_STATUS(node.bind(result, 0));
  if (node.wantsOutput(1))
    TLM_TRY_STATUS(node.bind(made.mean, 1));
  if (!node.wantsOutput(2))
    return success();
  TLM_TRY(ValueId inverse,
          node.emit(Op::Div, {node.constant({}, {1}), made.deviation}));
  return node.bind(inverse, 2);
}

/// x / sqrt(mean(x^2) + epsilon) * scale
Status tlm::importRmsNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  TLM_TRY(int64_t first,
          node.normaliseAxis(node.intAttribute("axis", -1), rank));
  AxesAttributes over{axesFrom(first, rank)};
  TLM_TRY(ValueId squares, node.emit(Op::Mul, {x, x}));
  TLM_TRY(ValueId mean, node.emit(Op::ReduceMean, {squares}, over));
  ValueId small = node.constant({}, {node.floatAttribute("epsilon", 1e-5f)});
  TLM_TRY(ValueId shifted, node.emit(Op::Add, {mean, small}));
  TLM_TRY(ValueId root, node.emit(Op::Sqrt, {shifted}));
  TLM_TRY(ValueId result, node.emit(Op::Div, {x, root}));
  TLM_TRY(result, node.emit(Op::Mul, {result, node.input(1)}));
  if (node.dims(result) != node.dims(x))
    return makeError("scale " + dimsText(node.dims(node.input(1))) +
                     " does not broadcast to " + dimsText(node.dims(x)));
  return node.bind(result);
}

/// Scale and bias are per group up to opset 20, per channel from 21 on.
Status tlm::importGroupNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  int64_t groups = node.intAttribute("num_groups", 0);
  if (dims.size() < 2 || groups < 1 || dims[1] % groups != 0)
    return makeError(std::to_string(groups) + " groups of an input " +
                     dimsText(dims));
  bool perGroup = node.opset() < 21;
  TLM_TRY_STATUS(checkPerChannel(node, perGroup ? groups : dims[1]));
  int64_t rest = countOf(Dims(dims.begin() + 1, dims.end())) / groups;
  TLM_TRY(ValueId grouped, node.reshape(x, {dims[0], groups, rest}));
  TLM_TRY(
      Standardised made,
      standardise(node, grouped, {2}, node.floatAttribute("epsilon", 1e-5f)));
  if (perGroup) {
    TLM_TRY(ValueId scaled, scaleChannels(node, made.result));
    return node.bind(node.reshape(scaled, dims));
  }
  TLM_TRY(ValueId back, node.reshape(made.result, dims));
  return node.bind(scaleChannels(node, back));
}

/// (x - mean) / (deviation + 1e-9)
Status tlm::importMeanVarianceNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(auto axes, node.normaliseAxes(node.intsAttribute("axes", {0, 2, 3}),
                                        node.rank(x)));
  AxesAttributes over{axes};
  TLM_TRY(ValueId mean, node.emit(Op::ReduceMean, {x}, over));
  TLM_TRY(ValueId centred, node.emit(Op::Sub, {x, mean}));
  TLM_TRY(ValueId squares, node.emit(Op::Mul, {centred, centred}));
  TLM_TRY(ValueId variance, node.emit(Op::ReduceMean, {squares}, over));
  TLM_TRY(ValueId deviation, node.emit(Op::Sqrt, {variance}));
  TLM_TRY(deviation,
          node.emit(Op::Add, {deviation, node.constant({}, {1e-9f})}));
  return node.bind(node.emit(Op::Div, {centred, deviation}));
}

/// x over its length by the 1- or 2-norm; 0 where that is 0.
Status tlm::importLpNormalization(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t p = node.intAttribute("p", 2);
  TLM_TRY(int64_t axis,
          node.normaliseAxis(node.intAttribute("axis", -1), node.rank(x)));
  if ((p != 1 && p != 2) || !isFloat(node.dtype(x)))
    return node.unsupported("p=" + std::to_string(p));
  TLM_TRY(ValueId norm,
          emitReduce(
              node, x, {axis}, Combine::Sum,
              [=](Term term) { return p == 1 ? abs(term) : term * term; },
              [=](Term sum) { return p == 1 ? sum : sqrt(sum); }));
  Expression e(node, node.dims(x));
  Term length = e.broadcast(norm);
  return node.bind(e.emit(select(equal(length, 0), 0, e.element(x) / length)));
}

namespace {

struct Lrn {
  int64_t size;
  float alpha, beta, bias;

  int64_t before() const { return (size - 1) / 2; }
  int64_t behind() const { return size / 2; }
};

/// The sum is a 1x1 convolution with a band matrix, the power two square roots.
Result<ValueId> lrnByConvolution(NodeImporter &node, ValueId x,
                                 const Lrn &lrn) {
  int64_t channels = node.dims(x)[1];
  std::vector<float> band(size_t(channels * channels), 0.0f);
  for (int64_t c = 0; c < channels; ++c) {
    int64_t last = std::min(channels - 1, c + lrn.behind());
    for (int64_t k = std::max<int64_t>(0, c - lrn.before()); k <= last; ++k)
      band[size_t(c * channels + k)] = lrn.alpha / float(lrn.size);
  }
  ValueId weights = node.constant({channels, channels, 1, 1}, std::move(band));
  ValueId shift =
      node.constant({channels}, std::vector<float>(size_t(channels), lrn.bias));
  TLM_TRY(ValueId squares, node.emit(Op::Mul, {x, x}));
  TLM_TRY(ValueId sums, node.emit(Op::Conv, {squares, weights, shift},
                                  ConvAttributes{{Window{}, Window{}}, 1}));
  ValueId power = sums;
  if (lrn.beta != 1.0f) {
    TLM_TRY(power, node.emit(Op::Sqrt, {sums}));
  }
  if (lrn.beta == 0.75f) {
    TLM_TRY(ValueId root, node.emit(Op::Sqrt, {power}));
    TLM_TRY(power, node.emit(Op::Mul, {power, root}));
  }
  return node.emit(Op::Div, {x, power});
}

Result<ValueId> lrnByExpression(NodeImporter &node, ValueId x, const Lrn &lrn) {
  const Dims dims = node.dims(x);
  Expression e(node, dims, {lrn.size});
  std::vector<Term> at = e.allLoops();
  at[1] = at[1] + e.reduction(0) - double(lrn.before());
  Term value = e.load(x, at);
  Term sum =
      e.reduce(select(inside(at[1], dims[1]), value * value, 0), Combine::Sum);
  Term base = sum * (double(lrn.alpha) / double(lrn.size)) + double(lrn.bias);
  return e.emit(e.element(x) / apply(Scalar::Pow, base, double(lrn.beta)));
}

} // namespace

/// x / (bias + alpha / size * sum of x^2 over neighbouring channels)^beta
Status tlm::importLrn(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims &dims = node.dims(x);
  Lrn lrn{node.intAttribute("size", 0), node.floatAttribute("alpha", 1e-4f),
          node.floatAttribute("beta", 0.75f),
          node.floatAttribute("bias", 1.0f)};
  if (lrn.size < 1 || lrn.size > kMaxWindow)
    return makeError("size is " + std::to_string(lrn.size) +
                     "; at least 1 is allowed");
  if (dims.size() < 2 || !isFloat(node.dtype(x)))
    return makeError("input " + typeText(node.dtype(x), dims) +
                     " has no channel dim");
  bool simple = lrn.beta == 0.5f || lrn.beta == 0.75f || lrn.beta == 1.0f;
  bool plain = dims.size() == 4 && dims[1] <= 4096 && simple &&
               node.dtype(x) == DType::F32;
  return node.bind(plain ? lrnByConvolution(node, x, lrn)
                         : lrnByExpression(node, x, lrn));
}
