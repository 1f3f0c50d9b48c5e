//===- Text.h - building IR text --------------------------------*- C++ -*-===//

#ifndef TLM_LOWER_TEXT_H
#define TLM_LOWER_TEXT_H

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace tlm {

/// Concatenates the printed forms of `parts`.
template <typename... Parts>
std::string cat(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <typename Range>
std::string join(const Range &range, const char *separator) {
  std::ostringstream out;
  bool first = true;
  for (const auto &item : range) {
    if (!first)
      out << separator;
    out << item;
    first = false;
  }
  return out.str();
}

/// "4x8xf32" for {4, 8}.
inline std::string shapeText(const std::vector<int64_t> &sizes) {
  return join(sizes, "x") + (sizes.empty() ? "f32" : "xf32");
}

/// An f32 literal that round-trips every bit.
std::string floatLiteral(float value);

} // namespace tlm

#endif // TLM_LOWER_TEXT_H
