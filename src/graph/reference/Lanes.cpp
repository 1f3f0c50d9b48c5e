#include "graph/reference/Lanes.h"

#include "base/IntegerArithmetic.h"

using namespace tlm;
using namespace tlm::reference;

namespace {

double floorMod(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

using Unary = double (*)(double);

/// The functions of floats with one operand; null for other operations.
Unary unaryOf(Scalar op) {
  switch (op) {
  case Scalar::Neg:
    return [](double x) { return -x; };
  case Scalar::Abs:
    return [](double x) { return std::fabs(x); };
  case Scalar::Sqrt:
    return [](double x) { return std::sqrt(x); };
  case Scalar::Exp:
    return [](double x) { return std::exp(x); };
  case Scalar::Log:
    return [](double x) { return std::log(x); };
  case Scalar::Erf:
    return [](double x) { return std::erf(x); };
  case Scalar::Floor:
    return [](double x) { return std::floor(x); };
  case Scalar::Ceil:
    return [](double x) { return std::ceil(x); };
  case Scalar::Round:
    return [](double x) { return std::nearbyint(x); };
  case Scalar::Sin:
    return [](double x) { return std::sin(x); };
  case Scalar::Cos:
    return [](double x) { return std::cos(x); };
  case Scalar::Tan:
    return [](double x) { return std::tan(x); };
  case Scalar::Asin:
    return [](double x) { return std::asin(x); };
  case Scalar::Acos:
    return [](double x) { return std::acos(x); };
  case Scalar::Atan:
    return [](double x) { return std::atan(x); };
  case Scalar::Sinh:
    return [](double x) { return std::sinh(x); };
  case Scalar::Cosh:
    return [](double x) { return std::cosh(x); };
  case Scalar::Tanh:
    return [](double x) { return std::tanh(x); };
  case Scalar::Asinh:
    return [](double x) { return std::asinh(x); };
  case Scalar::Acosh:
    return [](double x) { return std::acosh(x); };
  case Scalar::Atanh:
    return [](double x) { return std::atanh(x); };
  default:
    return nullptr;
  }
}

/// Arithmetic, comparisons and math on floats of type T.
template <typename T>
void realOp(Scalar op, int64_t n, const T *a, const T *b, Cells &result) {
  T *out = as<T>(result);
  int64_t *truth = result.data();
  auto each = [&](auto function) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = function(a[i], b[i]);
  };
  auto test = [&](auto function) {
    for (int64_t i = 0; i < n; ++i)
      truth[i] = function(a[i], b[i]);
  };
  switch (op) {
  case Scalar::Add:
    return each([](T x, T y) { return x + y; });
  case Scalar::Sub:
    return each([](T x, T y) { return x - y; });
  case Scalar::Mul:
    return each([](T x, T y) { return x * y; });
  case Scalar::Div:
    return each([](T x, T y) { return x / y; });
  case Scalar::Remainder:
    return each([](T x, T y) { return T(std::fmod(x, y)); });
  case Scalar::FloorMod:
    return each([](T x, T y) { return T(floorMod(x, y)); });
  case Scalar::Min:
    return each([](T x, T y) { return smaller(x, y); });
  case Scalar::Max:
    return each([](T x, T y) { return larger(x, y); });
  case Scalar::Pow:
    return each([](T x, T y) { return T(std::pow(double(x), double(y))); });
  case Scalar::Equal:
    return test([](T x, T y) { return x == y; });
  case Scalar::Less:
    return test([](T x, T y) { return x < y; });
  case Scalar::LessEqual:
    return test([](T x, T y) { return x <= y; });
  case Scalar::IsNan:
    return test([](T x, T) { return std::isnan(x); });
  default:
    Unary function = unaryOf(op);
    TLM_CHECK(function) << nameOf(op) << " is not for floats";
    for (int64_t i = 0; i < n; ++i)
      out[i] = T(function(double(a[i])));
  }
}

/// The common cases of integerOp as loops of their own.
void wholeOp(Scalar op, DType dtype, int64_t n, const int64_t *a,
             const int64_t *b, int64_t *out) {
  auto each = [&](auto function) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = function(a[i], b[i]);
  };
  using U = uint64_t;
  bool plain = dtype == DType::I64;
  if (plain && op == Scalar::Add)
    return each([](U x, U y) { return int64_t(x + y); });
  if (plain && op == Scalar::Sub)
    return each([](U x, U y) { return int64_t(x - y); });
  if (plain && op == Scalar::Mul)
    return each([](U x, U y) { return int64_t(x * y); });
  if (plain && op == Scalar::Less)
    return each([](int64_t x, int64_t y) { return x < y; });
  if (plain && op == Scalar::LessEqual)
    return each([](int64_t x, int64_t y) { return x <= y; });
  if (op == Scalar::Equal)
    return each([](int64_t x, int64_t y) { return x == y; });
  if (op == Scalar::And)
    return each([](int64_t x, int64_t y) { return x & y; });
  if (op == Scalar::Or)
    return each([](int64_t x, int64_t y) { return x | y; });
  each([&](int64_t x, int64_t y) { return integerOp(op, dtype, x, y); });
}

} // namespace

void reference::applyLanes(Scalar op, DType dtype, int64_t n, const Cells &a,
                           const Cells &b, Cells &result) {
  if (dtype == DType::F32)
    realOp(op, n, as<float>(a), as<float>(b), result);
  else if (dtype == DType::F64)
    realOp(op, n, as<double>(a), as<double>(b), result);
  else
    wholeOp(op, dtype, n, a.data(), b.data(), result.data());
}

void reference::castLanes(const Cells &from, DType fromType, Cells &to,
                          DType toType, int64_t n) {
  auto real = [&](int64_t i) {
    return fromType == DType::F32 ? double(as<float>(from)[i])
           : fromType == DType::F64
               ? as<double>(from)[i]
               : realFromInteger(fromType, from[size_t(i)]);
  };
  for (int64_t i = 0; i < n; ++i) {
    if (toType == DType::F32 && !isFloat(fromType))
      // Not by way of double, which would round twice.
      as<float>(to)[i] = fromType == DType::U64
                             ? float(uint64_t(from[size_t(i)]))
                             : float(from[size_t(i)]);
    else if (toType == DType::F32)
      as<float>(to)[i] = float(real(i));
    else if (toType == DType::F64)
      as<double>(to)[i] = real(i);
    else if (isFloat(fromType))
      to[size_t(i)] = integerFromReal(toType, real(i));
    else
      to[size_t(i)] = wrapInteger(toType, from[size_t(i)]);
  }
}
