//===- HostTensor.cpp - a tensor on the user's side -----------------------===//

#include "HostTensor.h"

#include "base/Check.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tlm {
namespace {

template <typename T>
T load(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

float halfToFloat(uint16_t half) {
  int exponent = half >> 10 & 0x1f;
  int mantissa = half & 0x3ff;
  float magnitude;
  if (exponent == 0)
    magnitude = std::ldexp(float(mantissa), -24);
  else if (exponent == 31)
    magnitude = mantissa ? std::nanf("") : INFINITY;
  else
    magnitude = std::ldexp(float(mantissa + 1024), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

uint16_t floatToHalfExact(float value) {
  // Only for the values that fillRandom and fillOnes make: multiples of 2^-10
  // in [-1, 1].
  if (value == 0)
    return 0;
  int exponent;
  float fraction = std::frexp(std::fabs(value), &exponent);
  auto mantissa = uint16_t(int(fraction * 2048) - 1024);
  return uint16_t((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | mantissa);
}

/// Stores a value that every type represents exactly.
void store(HostTensor &tensor, int64_t index, double value) {
  char *bytes = tensor.data.data() + size_t(index) * sizeOf(tensor.dtype);
  auto put = [&](auto typed) { std::memcpy(bytes, &typed, sizeof(typed)); };
  switch (tensor.dtype) {
  case DType::F32:
    return put(float(value));
  case DType::F64:
    return put(value);
  case DType::F16:
    return put(floatToHalfExact(float(value)));
  case DType::BF16:
    return put(uint16_t(std::bit_cast<uint32_t>(float(value)) >> 16));
  case DType::U8:
  case DType::I8:
  case DType::Bool:
    return put(int8_t(value));
  case DType::I16:
  case DType::U16:
    return put(int16_t(value));
  case DType::I32:
  case DType::U32:
    return put(int32_t(value));
  case DType::I64:
  case DType::U64:
    return put(int64_t(value));
  case DType::Invalid:
    break;
  }
  TLM_CHECK(false) << "tensor without a type";
}

uint64_t splitMix(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

} // namespace

HostTensor::HostTensor(std::string name, DType dtype, std::vector<int64_t> dims)
    : name(std::move(name)), dtype(dtype), dims(std::move(dims)) {
  data.resize(size_t(count()) * sizeOf(dtype));
}

int64_t HostTensor::count() const {
  std::optional<int64_t> count = checkedCount(dims);
  TLM_CHECK(count) << "unchecked dims of tensor " << name;
  return *count;
}

std::string HostTensor::typeText() const {
  std::string text(nameOf(dtype));
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + ']';
}

double HostTensor::at(int64_t index) const {
  const char *bytes = data.data() + size_t(index) * sizeOf(dtype);
  switch (dtype) {
  case DType::F32:
    return load<float>(bytes);
  case DType::F64:
    return load<double>(bytes);
  case DType::F16:
    return halfToFloat(load<uint16_t>(bytes));
  case DType::BF16:
    return std::bit_cast<float>(uint32_t(load<uint16_t>(bytes)) << 16);
  case DType::U8:
    return load<uint8_t>(bytes);
  case DType::I8:
    return load<int8_t>(bytes);
  case DType::Bool:
    return load<uint8_t>(bytes) != 0;
  case DType::I16:
    return load<int16_t>(bytes);
  case DType::I32:
    return load<int32_t>(bytes);
  case DType::I64:
    return double(load<int64_t>(bytes));
  case DType::U16:
    return load<uint16_t>(bytes);
  case DType::U32:
    return load<uint32_t>(bytes);
  case DType::U64:
    return double(load<uint64_t>(bytes));
  case DType::Invalid:
    break;
  }
  TLM_CHECK(false) << "tensor without a type";
  return 0;
}

std::optional<int64_t> checkedCount(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    empty |= dim == 0;
  }
  if (empty)
    return 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count) || count > int64_t(1) << 58)
      return std::nullopt;
  return count;
}

DType dtypeFromName(std::string_view name) {
  for (DType type : {DType::F32, DType::U8, DType::I8, DType::U16, DType::I16,
                     DType::U32, DType::I32, DType::U64, DType::I64,
                     DType::Bool, DType::F16, DType::F64, DType::BF16})
    if (nameOf(type) == name)
      return type;
  return DType::Invalid;
}

void fillRandom(HostTensor &tensor, uint64_t seed) {
  uint64_t state = seed;
  int64_t count = tensor.count();
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = splitMix(state);
    double value;
    if (tensor.dtype == DType::F32 || tensor.dtype == DType::F64)
      value = double(int64_t(bits >> 40)) / double(1 << 23) - 1; // 24 bits
    else if (isFloat(tensor.dtype))
      value = double(int64_t(bits >> 57)) / 64 - 1; // 7 bits: fits bf16
    else if (tensor.dtype == DType::Bool)
      value = double(bits >> 63);
    else
      value = double((bits >> 32) * 100 >> 32);
    store(tensor, i, value);
  }
}

void fillOnes(HostTensor &tensor) {
  int64_t count = tensor.count();
  for (int64_t i = 0; i < count; ++i)
    store(tensor, i, 1);
}

} // namespace tlm
