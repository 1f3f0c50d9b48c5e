//===- Pointwise.cpp ------------------------------------------------------===//

#include "base/Pointwise.h"

#include "base/Check.h"

#include <algorithm>
#include <cmath>

namespace tlm {

static float maximum(float a, float b) {
  return std::isnan(a) || a > b ? a : (std::isnan(b) ? b : std::max(a, b));
}
static float minimum(float a, float b) {
  return std::isnan(a) || a < b ? a : (std::isnan(b) ? b : std::min(a, b));
}
static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

float applyPointwise(Op op, std::span<const float> inputs,
                     const ScalarAttributes &s) {
  float x = inputs[0];
  switch (op) {
  case Op::Add:
    return x + inputs[1];
  case Op::Sub:
    return x - inputs[1];
  case Op::Mul:
    return x * inputs[1];
  case Op::Div:
    return x / inputs[1];
  case Op::Max:
    for (float y : inputs.subspan(1))
      x = maximum(x, y);
    return x;
  case Op::Min:
    for (float y : inputs.subspan(1))
      x = minimum(x, y);
    return x;
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
    TLM_CHECK(false) << nameOf(op) << " is not pointwise";
    return 0;
  }
}

} // namespace tlm
