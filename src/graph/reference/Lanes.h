//===- Lanes.h - scalar operations on blocks of numbers ---------*- C++ -*-===//
//
// What Compute.cpp does to many elements at once. Numbers are held as
// ScalarOps.def says: f32 as float, f64 as double, rounded after every
// operation; integers of all widths and bool in an i64, each in a cell of 8
// bytes or, for f32, of 4.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_GRAPH_REFERENCE_LANES_H
#define TLM_GRAPH_REFERENCE_LANES_H

#include "base/Check.h"
#include "base/Computation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tlm::reference {

inline constexpr int64_t kLanes = 256;

using Cells = std::array<int64_t, kLanes>;

template <typename T>
T *as(Cells &cells) {
  return reinterpret_cast<T *>(cells.data());
}
template <typename T>
const T *as(const Cells &cells) {
  return reinterpret_cast<const T *>(cells.data());
}

// NaN in, NaN out.
template <typename T>
T smaller(T a, T b) {
  return std::isnan(a) || a < b ? a : (std::isnan(b) ? b : std::min(a, b));
}
template <typename T>
T larger(T a, T b) {
  return std::isnan(a) || a > b ? a : (std::isnan(b) ? b : std::max(a, b));
}

/// Arithmetic, comparisons and math on n operands of `dtype`, any but a float
/// of 16 bits; operations with one operand ignore b.
void applyLanes(Scalar op, DType dtype, int64_t n, const Cells &a,
                const Cells &b, Cells &result);

void castLanes(const Cells &from, DType fromType, Cells &to, DType toType,
               int64_t n);

/// Calls function(T()) with the C++ type of a dtype's elements.
template <typename Function>
void withElementType(DType dtype, Function function) {
  switch (dtype) {
  case DType::F32:
    return function(float());
  case DType::F64:
    return function(double());
  case DType::I8:
    return function(int8_t());
  case DType::U8:
  case DType::Bool:
    return function(uint8_t());
  case DType::I16:
    return function(int16_t());
  case DType::U16:
    return function(uint16_t());
  case DType::I32:
    return function(int32_t());
  case DType::U32:
    return function(uint32_t());
  case DType::I64:
    return function(int64_t());
  case DType::U64:
    return function(uint64_t());
  default:
    TLM_CHECK(false) << "computations have no " << nameOf(dtype);
  }
}

/// How the type holds numbers in cells: float, double or int64_t.
template <typename T>
using Cell = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;

} // namespace tlm::reference

#endif // TLM_GRAPH_REFERENCE_LANES_H
