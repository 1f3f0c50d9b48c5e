#include "lower/KernelTolerance.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

using namespace tlm;

static constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Of a value of OperandData.
static constexpr double kLargestValue = 4;

static double ulp(double value) {
  return std::max(std::abs(value), double(FLT_MIN)) * 0x1p-23;
}

/// Of one rounding; none when there was nothing to round.
static double rounding(double exact) {
  return double(float(exact)) == exact ? 0 : ulp(exact);
}

static bool usesWinograd(const Kernel &kernel) {
  for (const std::optional<Packing> &packing : kernel.packings)
    if (packing && packing->transform == WeightTransform::Winograd4x4_3x3)
      return true;
  return false;
}

/// An error inside a computation may grow without bound (differences of
/// exponentials, comparisons), so only moves, sums and products are judged.
static double computationTolerance(const Computation &computation,
                                   double largest) {
  double tolerance = 0;
  for (const ScalarNode &node : computation.nodes) {
    if (!isFloat(node.dtype)) {
      bool comparesFloats =
          !node.arguments.empty() &&
          isFloat(computation.nodes[size_t(node.arguments[0])].dtype);
      if (comparesFloats)
        return kUnknown;
      continue;
    }
    switch (node.op) {
    case Scalar::Constant:
    case Scalar::Load:
    case Scalar::Select:
    case Scalar::Min:
    case Scalar::Max:
    case Scalar::Neg:
    case Scalar::Abs:
      break;
    case Scalar::Add:
    case Scalar::Sub:
    case Scalar::Mul:
    case Scalar::Reduce:
      tolerance = 1e-5 * std::max(1.0, largest);
      break;
    default:
      return kUnknown;
    }
  }
  return tolerance;
}

double tlm::accumulatorTolerance(const Task &task, const Kernel &kernel,
                                 double value, double largest) {
  switch (task.kind) {
  case TaskKind::AveragePool:
  case TaskKind::GlobalPool:
    return 2 * ulp(value);
  case TaskKind::Softmax:
    return double(task.output().type.dims.back() + 8) * ulp(value);
  case TaskKind::Conv: {
    if (!usesWinograd(kernel))
      return 0;
    double terms = double(task.find(Role::Weight)->type.elementCount() /
                          task.output().type.dims[1]);
    return 1e-5 * largest * std::max(1.0, terms / 4608);
  }
  case TaskKind::Normalize:
    return double(task.output().type.dims.back() + 16) * ulp(largest);
  case TaskKind::Attention: {
    const std::vector<int64_t> &keys = task.operands[1].type.dims;
    return kLargestValue * (double(keys[keys.size() - 2]) * 0x1p-23 + 2e-5);
  }
  case TaskKind::Compute:
    return computationTolerance(task.computation, largest);
  default:
    return 0;
  }
}

namespace {

struct Bounded {
  double value = 0, error = 0;
};

/// Error of op(x[0], x[1]) = result.
double binaryError(Op op, const std::vector<Bounded> &x, float result) {
  double a = x[0].value, b = x[1].value, ea = x[0].error, eb = x[1].error;
  switch (op) {
  case Op::Add:
    return ea + eb + rounding(a + b);
  case Op::Sub:
    return ea + eb + rounding(a - b);
  case Op::Mul:
    return std::abs(a) * eb + std::abs(b) * ea + ea * eb + rounding(a * b);
  default: { // Div
    double least = std::abs(b) - eb;
    if (!(least > 0))
      return eb > 0 ? kUnknown : 0;
    bool exact = double(result) * b == a;
    return (ea + std::abs(result) * eb) / least + (exact ? 0 : ulp(result));
  }
  }
}

double unaryError(const PointOp &point, Bounded x, float result) {
  double magnitude = std::abs(x.value), a = std::abs(double(point.a));
  switch (point.op) {
  case Op::Relu:
  case Op::Clip:
  case Op::Neg:
  case Op::Abs:
    return x.error;
  case Op::Sigmoid:
    return x.error / 4 + 3e-7 + 2 * ulp(result);
  case Op::Swish:
    return 1.1 * x.error + 3e-7 + 2 * ulp(result);
  case Op::Tanh:
    return x.error + 5e-7;
  case Op::Erf:
    return 1.13 * x.error + 5e-7;
  case Op::Gelu:
  case Op::GeluTanh:
    return 1.13 * x.error + 1e-6 * std::max(1.0, magnitude);
  case Op::HardSigmoid: {
    double line = double(point.a) * x.value;
    return a * x.error + rounding(line) + rounding(line + double(point.b));
  }
  case Op::HardSwish:
    return 1.5 * x.error + 2 * magnitude * ulp(magnitude / 6 + 0.5) +
           ulp(result);
  case Op::LeakyRelu:
    return std::max(1.0, a) * x.error +
           (x.value < 0 ? rounding(double(point.a) * x.value) : 0);
  case Op::Elu:
    return std::max(1.0, a) * x.error +
           (x.value - x.error < 0 ? 5e-7 * a + 2 * ulp(result) : 0);
  case Op::Exp:
    return result * (std::expm1(x.error) + 3e-7 + 1.3e-7 * magnitude) +
           double(FLT_MIN);
  case Op::Sqrt:
    if (x.error == 0)
      return ulp(result);
    return x.value - x.error < 0 ? kUnknown : std::sqrt(x.error) + ulp(result);
  default:
    return kUnknown;
  }
}

} // namespace

double tlm::outputTolerance(const Task &task, const PointTrace &trace,
                            double accumulatorTolerance) {
  double error = accumulatorTolerance;
  std::vector<double> errors;
  for (size_t i = 0; i < task.points.size(); ++i) {
    const PointOp &point = task.points[i];
    std::vector<Bounded> x;
    for (PointRef ref : point.inputs)
      x.push_back({trace.argument(ref), ref.kind == PointRef::Kind::Accumulator
                                            ? accumulatorTolerance
                                        : ref.kind == PointRef::Kind::Point
                                            ? errors[size_t(ref.index)]
                                            : 0});
    float result = trace.points[i];
    if (point.op == Op::Max || point.op == Op::Min) {
      error = 0;
      for (const Bounded &each : x)
        error = std::max(error, each.error);
    } else {
      error = x.size() == 2 ? binaryError(point.op, x, result)
                            : unaryError(point, x[0], result);
    }
    errors.push_back(error);
  }
  return error;
}
