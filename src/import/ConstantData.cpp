#include "import/ConstantData.h"

#include "base/IntegerArithmetic.h"
#include "graph/GraphBuilder.h"

#include <cstring>

using namespace tlm;

namespace {

Constant ownBytes(std::vector<std::byte> bytes) {
  static const std::byte empty{};
  if (bytes.empty())
    return {&empty, 0, nullptr};
  auto holder =
      std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {holder->data(), holder->size(), holder};
}

template <typename T>
std::vector<int64_t> widen(const Value &value) {
  const T *data = value.constant.as<T>();
  return std::vector<int64_t>(data, data + countOf(value.dims));
}

template <typename T>
Constant narrow(const std::vector<int64_t> &numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (size_t i = 0; i < numbers.size(); ++i) {
    T number = T(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
  }
  return ownBytes(std::move(bytes));
}

} // namespace

bool tlm::holdsInts(DType dtype) {
  return isInteger(dtype) || dtype == DType::Bool;
}

std::vector<int64_t> tlm::readInts(const Value &value) {
  switch (value.dtype) {
  case DType::I64:
  case DType::U64:
    return widen<int64_t>(value);
  case DType::U32:
    return widen<uint32_t>(value);
  case DType::U16:
    return widen<uint16_t>(value);
  case DType::I32:
    return widen<int32_t>(value);
  case DType::I16:
    return widen<int16_t>(value);
  case DType::I8:
    return widen<int8_t>(value);
  case DType::U8:
  case DType::Bool:
    return widen<uint8_t>(value);
  default:
    return {};
  }
}

Constant tlm::writeInts(DType dtype, const std::vector<int64_t> &numbers) {
  switch (dtype) {
  case DType::I64:
  case DType::U64:
    return makeConstant(numbers);
  case DType::U32:
    return narrow<uint32_t>(numbers);
  case DType::U16:
    return narrow<uint16_t>(numbers);
  case DType::I32:
    return narrow<int32_t>(numbers);
  case DType::I16:
    return narrow<int16_t>(numbers);
  case DType::I8:
    return narrow<int8_t>(numbers);
  case DType::U8:
    return narrow<uint8_t>(numbers);
  default: {
    std::vector<int64_t> truths = numbers;
    for (int64_t &truth : truths)
      truth = truth != 0;
    return narrow<uint8_t>(truths);
  }
  }
}

std::optional<std::vector<double>> tlm::readNumbers(const Value &value) {
  size_t count = size_t(countOf(value.dims));
  if (holdsInts(value.dtype)) {
    std::vector<double> numbers;
    for (int64_t number : readInts(value))
      numbers.push_back(realFromInteger(value.dtype, number));
    return numbers;
  }
  if (value.dtype == DType::F32) {
    const float *data = value.constant.as<float>();
    return std::vector<double>(data, data + count);
  }
  if (value.dtype == DType::F64) {
    const double *data = value.constant.as<double>();
    return std::vector<double>(data, data + count);
  }
  return std::nullopt;
}
