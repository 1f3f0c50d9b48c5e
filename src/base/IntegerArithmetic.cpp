#include "base/IntegerArithmetic.h"

#include "base/Check.h"

#include <cmath>
#include <limits>

using namespace tlm;

int64_t tlm::wrapInteger(DType dtype, int64_t value) {
  switch (dtype) {
  case DType::Bool:
    return value != 0;
  case DType::I8:
    return int8_t(value);
  case DType::U8:
    return uint8_t(value);
  case DType::I16:
    return int16_t(value);
  case DType::U16:
    return uint16_t(value);
  case DType::I32:
    return int32_t(value);
  case DType::U32:
    return uint32_t(value);
  default:
    return value;
  }
}

int64_t tlm::lowestInteger(DType dtype) {
  switch (dtype) {
  case DType::I8:
    return std::numeric_limits<int8_t>::min();
  case DType::I16:
    return std::numeric_limits<int16_t>::min();
  case DType::I32:
    return std::numeric_limits<int32_t>::min();
  case DType::I64:
    return std::numeric_limits<int64_t>::min();
  default:
    return 0;
  }
}

int64_t tlm::highestInteger(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return 1;
  case DType::I8:
    return std::numeric_limits<int8_t>::max();
  case DType::U8:
    return std::numeric_limits<uint8_t>::max();
  case DType::I16:
    return std::numeric_limits<int16_t>::max();
  case DType::U16:
    return std::numeric_limits<uint16_t>::max();
  case DType::I32:
    return std::numeric_limits<int32_t>::max();
  case DType::U32:
    return std::numeric_limits<uint32_t>::max();
  case DType::U64:
    return -1; // all bits
  default:
    return std::numeric_limits<int64_t>::max();
  }
}

double tlm::realFromInteger(DType dtype, int64_t value) {
  return dtype == DType::U64 ? double(uint64_t(value)) : double(value);
}

int64_t tlm::integerFromReal(DType dtype, double value) {
  if (dtype == DType::Bool)
    return value != 0; // NaN too
  if (std::isnan(value))
    return 0;
  if (value <= realFromInteger(dtype, lowestInteger(dtype)))
    return lowestInteger(dtype);
  if (value >= realFromInteger(dtype, highestInteger(dtype)))
    return highestInteger(dtype);
  return dtype == DType::U64 ? int64_t(uint64_t(value)) : int64_t(value);
}

namespace {

bool isLess(DType dtype, int64_t a, int64_t b) {
  return dtype == DType::U64 ? uint64_t(a) < uint64_t(b) : a < b;
}

int64_t quotient(DType dtype, int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (dtype == DType::U64)
    return int64_t(uint64_t(a) / uint64_t(b));
  return b == -1 ? int64_t(0 - uint64_t(a)) : a / b;
}

int64_t remainder(DType dtype, int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (dtype == DType::U64)
    return int64_t(uint64_t(a) % uint64_t(b));
  return b == -1 ? 0 : a % b;
}

int64_t floorMod(DType dtype, int64_t a, int64_t b) {
  int64_t rest = remainder(dtype, a, b);
  bool differs = dtype != DType::U64 && rest != 0 && (rest < 0) != (b < 0);
  return differs ? rest + b : rest;
}

/// 1 / base^-n is 0 but for bases of one.
int64_t power(DType dtype, int64_t base, int64_t exponent) {
  if (!isUnsigned(dtype) && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = uint64_t(base);
  for (uint64_t rest = uint64_t(exponent); rest; rest >>= 1) {
    if (rest & 1)
      result *= square;
    square *= square;
  }
  return int64_t(result);
}

int64_t shiftLeft(DType dtype, int64_t a, int64_t b) {
  uint64_t width = 8 * sizeOf(dtype);
  return uint64_t(b) >= width ? 0 : int64_t(uint64_t(a) << b);
}

int64_t shiftRight(DType dtype, int64_t a, int64_t b) {
  uint64_t width = 8 * sizeOf(dtype);
  if (uint64_t(b) >= width)
    return !isUnsigned(dtype) && a < 0 ? -1 : 0;
  return dtype == DType::U64 ? int64_t(uint64_t(a) >> b) : a >> b;
}

int64_t exact(Scalar op, DType dtype, int64_t a, int64_t b) {
  switch (op) {
  case Scalar::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case Scalar::Sub:
    return int64_t(uint64_t(a) - uint64_t(b));
  case Scalar::Mul:
    return int64_t(uint64_t(a) * uint64_t(b));
  case Scalar::Div:
    return quotient(dtype, a, b);
  case Scalar::Remainder:
    return remainder(dtype, a, b);
  case Scalar::FloorMod:
    return floorMod(dtype, a, b);
  case Scalar::Min:
    return isLess(dtype, b, a) ? b : a;
  case Scalar::Max:
    return isLess(dtype, a, b) ? b : a;
  case Scalar::Pow:
    return power(dtype, a, b);
  case Scalar::And:
    return a & b;
  case Scalar::Or:
    return a | b;
  case Scalar::Xor:
    return a ^ b;
  case Scalar::Not:
    return dtype == DType::Bool ? !a : ~a;
  case Scalar::ShiftLeft:
    return shiftLeft(dtype, a, b);
  case Scalar::ShiftRight:
    return shiftRight(dtype, a, b);
  case Scalar::Neg:
    return int64_t(0 - uint64_t(a));
  case Scalar::Abs:
    return isUnsigned(dtype) || a >= 0 ? a : int64_t(0 - uint64_t(a));
  default:
    TLM_CHECK(false) << nameOf(op) << " is not for integers";
    return 0;
  }
}

} // namespace

int64_t tlm::integerOp(Scalar op, DType dtype, int64_t a, int64_t b) {
  switch (op) {
  case Scalar::Equal:
    return a == b;
  case Scalar::Less:
    return isLess(dtype, a, b);
  case Scalar::LessEqual:
    return !isLess(dtype, b, a);
  default:
    return wrapInteger(dtype, exact(op, dtype, a, b));
  }
}
