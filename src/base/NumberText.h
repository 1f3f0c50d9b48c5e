//===- NumberText.h - numbers in canonical text -----------------*- C++ -*-===//
//
// Canonical texts are keys, so a number has one spelling, free of the locale:
// the shortest decimal that reads back as the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_NUMBERTEXT_H
#define TLM_BASE_NUMBERTEXT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tlm {

/// "0.1", "1e-05", "-inf", "nan". Both zeros print as "0", every NaN as "nan".
std::string floatText(float value);
std::string doubleText(double value);

/// The whole of `text`, or nothing.
std::optional<float> parseFloat(std::string_view text);
std::optional<double> parseDouble(std::string_view text);

/// The whole of `text` as a decimal integer that fits, or nothing.
std::optional<int64_t> parseInteger(std::string_view text);

} // namespace tlm

#endif // TLM_BASE_NUMBERTEXT_H
