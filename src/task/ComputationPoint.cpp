//===- ComputationPoint.cpp -----------------------------------------------===//

#include "task/ComputationPoint.h"

#include "base/Check.h"
#include "base/IntegerArithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tlm {

static Number rounded(DType dtype, double real) {
  return {dtype == DType::F32 ? double(float(real)) : real, 0};
}

Number TypedBuffer::at(int64_t element) const {
  size_t size = sizeOf(type->dtype);
  const std::byte *from = data + size_t(element) * size;
  if (type->dtype == DType::F32) {
    float value;
    std::memcpy(&value, from, size);
    return {double(value), 0};
  }
  if (type->dtype == DType::F64) {
    double value;
    std::memcpy(&value, from, size);
    return {value, 0};
  }
  int64_t bits = 0;
  std::memcpy(&bits, from, size);
  return {0, wrapInteger(type->dtype, bits)};
}

ComputationPoint::ComputationPoint(const Computation &computation,
                                   std::vector<TypedBuffer> operands)
    : computation(computation), operands(std::move(operands)),
      values(computation.nodes.size()) {
  for (const TypedBuffer &operand : this->operands)
    strides.push_back(operand.type->strides());
  for (const ScalarNode &node : computation.nodes) {
    Stage stage = Stage::Before;
    if (node.op == Scalar::Loop &&
        size_t(node.index) >= computation.loops.size())
      stage = Stage::Inside;
    for (int32_t argument : node.arguments)
      stage = std::max(stage, stages[size_t(argument)]);
    stages.push_back(node.op == Scalar::Reduce ? Stage::After : stage);
  }
}

Number ComputationPoint::at(const std::vector<int64_t> &index) {
  loops = index;
  loops.resize(index.size() + computation.reductions.size(), 0);
  evaluate(Stage::Before);
  evaluate(Stage::After);
  return values[size_t(computation.result)];
}

void ComputationPoint::evaluate(Stage stage) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const ScalarNode &node = computation.nodes[i];
    if (stages[i] == stage)
      values[i] = node.op == Scalar::Reduce ? reduce(node) : valueOf(node);
  }
}

static double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
}
static double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

static double realOp(Scalar op, double a, double b) {
  switch (op) {
  case Scalar::Add:
    return a + b;
  case Scalar::Sub:
    return a - b;
  case Scalar::Mul:
    return a * b;
  case Scalar::Div:
    return a / b;
  case Scalar::Remainder:
    return std::fmod(a, b);
  case Scalar::FloorMod: {
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  case Scalar::Min:
    return smaller(a, b);
  case Scalar::Max:
    return larger(a, b);
  case Scalar::Pow:
    return std::pow(a, b);
  case Scalar::Neg:
    return -a;
  case Scalar::Abs:
    return std::fabs(a);
  case Scalar::Sqrt:
    return std::sqrt(a);
  case Scalar::Exp:
    return std::exp(a);
  case Scalar::Log:
    return std::log(a);
  case Scalar::Erf:
    return std::erf(a);
  case Scalar::Floor:
    return std::floor(a);
  case Scalar::Ceil:
    return std::ceil(a);
  case Scalar::Round:
    return std::nearbyint(a);
  case Scalar::Sin:
    return std::sin(a);
  case Scalar::Cos:
    return std::cos(a);
  case Scalar::Tan:
    return std::tan(a);
  case Scalar::Asin:
    return std::asin(a);
  case Scalar::Acos:
    return std::acos(a);
  case Scalar::Atan:
    return std::atan(a);
  case Scalar::Sinh:
    return std::sinh(a);
  case Scalar::Cosh:
    return std::cosh(a);
  case Scalar::Tanh:
    return std::tanh(a);
  case Scalar::Asinh:
    return std::asinh(a);
  case Scalar::Acosh:
    return std::acosh(a);
  case Scalar::Atanh:
    return std::atanh(a);
  default:
    TLM_CHECK(false) << nameOf(op) << " is not for floats";
    return 0;
  }
}

static Number convert(Number value, DType from, DType to) {
  if (isFloat(to)) {
    double real =
        isFloat(from) ? value.real : realFromInteger(from, value.whole);
    // Not by way of double, which would round twice.
    if (to == DType::F32 && !isFloat(from))
      real = from == DType::U64 ? double(float(uint64_t(value.whole)))
                                : double(float(value.whole));
    return rounded(to, real);
  }
  return {0, isFloat(from) ? integerFromReal(to, value.real)
                           : wrapInteger(to, value.whole)};
}

Number ComputationPoint::valueOf(const ScalarNode &node) const {
  auto argument = [&](size_t i) -> const Number & {
    return values[size_t(
        node.arguments[std::min(i, node.arguments.size() - 1)])];
  };
  auto typeOf = [&](size_t i) {
    return computation.nodes[size_t(node.arguments[i])].dtype;
  };
  switch (node.op) {
  case Scalar::Constant:
    return {node.real, node.integer};
  case Scalar::Loop:
    return {0, loops[size_t(node.index)]};
  case Scalar::Load:
    return load(node);
  case Scalar::Cast:
    return convert(argument(0), typeOf(0), node.dtype);
  case Scalar::Select:
    return argument(0).whole ? argument(1) : argument(2);
  default:
    break;
  }
  if (!isFloat(typeOf(0)))
    return {
        0, integerOp(node.op, typeOf(0), argument(0).whole, argument(1).whole)};
  double a = argument(0).real, b = argument(1).real;
  switch (node.op) {
  case Scalar::Equal:
    return {0, a == b};
  case Scalar::Less:
    return {0, a < b};
  case Scalar::LessEqual:
    return {0, a <= b};
  case Scalar::IsNan:
    return {0, std::isnan(a)};
  default:
    return rounded(node.dtype, realOp(node.op, a, b));
  }
}

Number ComputationPoint::load(const ScalarNode &node) const {
  const TypedBuffer &operand = operands[size_t(node.index)];
  if (operand.type->elementCount() == 0)
    return {};
  int64_t element = operand.type->origin();
  for (size_t d = 0; d < node.arguments.size(); ++d)
    element += strides[size_t(node.index)][d] *
               std::clamp<int64_t>(values[size_t(node.arguments[d])].whole, 0,
                                   operand.type->dims[d] - 1);
  return operand.at(element);
}

static Number identityOf(Combine combine, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (combine) {
  case Combine::Product:
    return {1, 1};
  case Combine::Min:
  case Combine::ArgMinFirst:
  case Combine::ArgMinLast:
    return {kInfinity, highestInteger(dtype)};
  case Combine::Max:
  case Combine::ArgMaxFirst:
  case Combine::ArgMaxLast:
    return {-kInfinity, lowestInteger(dtype)};
  case Combine::And:
    return {0, wrapInteger(dtype, -1)};
  default:
    return {};
  }
}

Number ComputationPoint::reduce(const ScalarNode &node) {
  Combine combine = computation.combine;
  size_t argument = size_t(node.arguments[0]), first = computation.loops.size();
  DType dtype = computation.nodes[argument].dtype;
  int64_t steps = 1, position = 0;
  for (int64_t extent : computation.reductions)
    steps *= extent;
  Number sum = identityOf(combine, dtype);
  for (int64_t step = 0; step < steps; ++step) {
    int64_t rest = step;
    for (size_t r = computation.reductions.size(); r-- > 0;) {
      loops[first + r] = rest % computation.reductions[r];
      rest /= computation.reductions[r];
    }
    evaluate(Stage::Inside);
    Number value = values[argument];
    auto is = [&](Scalar op, const Number &a, const Number &b) {
      if (!isFloat(dtype))
        return integerOp(op, dtype, a.whole, b.whole) != 0;
      return op == Scalar::Less ? a.real < b.real : a.real <= b.real;
    };
    auto fold = [&](Scalar op) {
      sum = isFloat(dtype)
                ? Number{realOp(op, sum.real, value.real), 0}
                : Number{0, integerOp(op, dtype, sum.whole, value.whole)};
    };
    bool better = false;
    switch (combine) {
    case Combine::Sum:
      fold(Scalar::Add);
      break;
    case Combine::Product:
      fold(Scalar::Mul);
      break;
    case Combine::Min:
      fold(Scalar::Min);
      break;
    case Combine::Max:
      fold(Scalar::Max);
      break;
    case Combine::And:
      fold(Scalar::And);
      break;
    case Combine::Or:
      fold(Scalar::Or);
      break;
    case Combine::ArgMinFirst:
      better = is(Scalar::Less, value, sum);
      break;
    case Combine::ArgMinLast:
      better = is(Scalar::LessEqual, value, sum);
      break;
    case Combine::ArgMaxFirst:
      better = is(Scalar::Less, sum, value);
      break;
    case Combine::ArgMaxLast:
      better = is(Scalar::LessEqual, sum, value);
      break;
    }
    if (better) {
      sum = value;
      position = step;
    }
  }
  if (combine >= Combine::ArgMinFirst)
    return {0, position};
  return isFloat(dtype) ? rounded(dtype, sum.real) : sum;
}

} // namespace tlm
