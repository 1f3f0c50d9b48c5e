//===- NumberText.cpp -----------------------------------------------------===//

#include "base/NumberText.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace tlm {

template <typename T>
static std::string shortest(T value) {
  if (std::isnan(value))
    return "nan";
  if (value == 0)
    return "0";
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end);
}

std::string floatText(float value) { return shortest(value); }

std::string doubleText(double value) { return shortest(value); }

template <typename T>
static std::optional<T> parseWhole(std::string_view text) {
  T value{};
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<float> parseFloat(std::string_view text) {
  return parseWhole<float>(text);
}

std::optional<double> parseDouble(std::string_view text) {
  return parseWhole<double>(text);
}

std::optional<int64_t> parseInteger(std::string_view text) {
  return parseWhole<int64_t>(text);
}

} // namespace tlm
