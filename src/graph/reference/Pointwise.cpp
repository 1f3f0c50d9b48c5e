#include "graph/reference/Kernels.h"

#include "base/Check.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

// ONNX's max and min: NaN in, NaN out.
float maximum(float a, float b) {
  return std::isnan(a) || a > b ? a : (std::isnan(b) ? b : std::max(a, b));
}
float minimum(float a, float b) {
  return std::isnan(a) || a < b ? a : (std::isnan(b) ? b : std::min(a, b));
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// Transcendental functions go through double: error below one f32 rounding.
float apply(Op op, float x, const ScalarAttributes &s) {
  switch (op) {
  case Op::Relu:
    return maximum(x, 0);
  case Op::Clip: // max last: an empty interval yields b
    return minimum(maximum(x, s.a), s.b);
  case Op::Sigmoid:
    return float(sigmoid(x));
  case Op::Tanh:
    return float(std::tanh(double(x)));
  case Op::Swish:
    return float(double(x) * sigmoid(x));
  case Op::HardSigmoid:
    return minimum(maximum(s.a * x + s.b, 0), 1);
  case Op::HardSwish:
    return x * minimum(maximum(x / 6.0f + 0.5f, 0), 1);
  case Op::LeakyRelu:
    return x < 0 ? s.a * x : x;
  case Op::Elu:
    return x < 0 ? float(double(s.a) * std::expm1(double(x))) : x;
  case Op::Exp:
    return float(std::exp(double(x)));
  case Op::Sqrt:
    return std::sqrt(x);
  case Op::Neg:
    return -x;
  case Op::Abs:
    return std::fabs(x);
  case Op::Erf:
    return float(std::erf(double(x)));
  case Op::Gelu:
    return float(0.5 * double(x) * (1.0 + std::erf(double(x) * M_SQRT1_2)));
  case Op::GeluTanh: {
    double d = double(x);
    return float(
        0.5 * d *
        (1.0 + std::tanh(0.7978845608028654 * (d + 0.044715 * d * d * d))));
  }
  default:
    TLM_CHECK(false) << nameOf(op) << " is no unary pointwise operator";
    return 0;
  }
}

float apply(Op op, float a, float b) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Div:
    return a / b;
  case Op::Max:
    return maximum(a, b);
  case Op::Min:
    return minimum(a, b);
  default:
    TLM_CHECK(false) << nameOf(op) << " is no binary pointwise operator";
    return 0;
  }
}

/// Elements between neighbours of an operand along each dim of the output; 0
/// where it broadcasts.
Dims broadcastStrides(const Dims &from, const Dims &to) {
  Dims strides(to.size(), 0);
  int64_t step = 1;
  for (size_t i = from.size(), o = to.size(); i-- > 0;) {
    strides[--o] = from[i] == 1 ? 0 : step;
    step *= from[i];
  }
  return strides;
}

/// Row `row` of the output (all dims but the last) in an operand.
int64_t rowOffset(const Dims &dims, const Dims &strides, int64_t row) {
  int64_t offset = 0;
  for (size_t i = dims.size() - 1; i-- > 0;) {
    offset += row % dims[i] * strides[i];
    row /= dims[i];
  }
  return offset;
}

void binary(Op op, const TensorView &a, const TensorView &b, Tensor &y,
            int threads) {
  Dims dims = y.dims.empty() ? Dims{1} : y.dims;
  Dims stepA = broadcastStrides(*a.dims, dims);
  Dims stepB = broadcastStrides(*b.dims, dims);
  int64_t length = dims.back(), rows = int64_t(y.data.size()) / length;
  reference::parallelFor(rows, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float *left = a.data + rowOffset(dims, stepA, row);
      const float *right = b.data + rowOffset(dims, stepB, row);
      float *out = y.data.data() + row * length;
      for (int64_t j = 0; j < length; ++j)
        out[j] = apply(op, left[j * stepA.back()], right[j * stepB.back()]);
    }
  });
}

} // namespace

void reference::pointwise(Op op, Operands inputs,
                          const ScalarAttributes &attributes, Tensor &y,
                          int threads) {
  if (inputs.size() == 2)
    return binary(op, inputs[0], inputs[1], y, threads);
  parallelFor(int64_t(y.data.size()), threads, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i)
      y.data[size_t(i)] = apply(op, inputs[0].data[i], attributes);
  });
}
