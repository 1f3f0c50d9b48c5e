//===- Line.h - a cursor over one line of text ------------------*- C++ -*-===//

#ifndef TLM_TASK_LINE_H
#define TLM_TASK_LINE_H

#include "base/NumberText.h"

#include <cstdint>
#include <string_view>

namespace tlm {

/// A cursor over one line; every take... consumes on success only.
class Line {
public:
  explicit Line(std::string_view rest) : rest(rest) {}

  bool take(std::string_view literal) {
    if (!rest.starts_with(literal))
      return false;
    rest.remove_prefix(literal.size());
    return true;
  }
  bool atEnd() const { return rest.empty(); }

  /// Characters up to a delimiter or the end.
  std::string_view word(std::string_view delimiters = " ") {
    std::string_view word = rest.substr(0, rest.find_first_of(delimiters));
    rest.remove_prefix(word.size());
    return word;
  }
  template <typename T>
  bool integer(T &value, std::string_view delimiters = " ") {
    std::optional<int64_t> parsed = parseInteger(word(delimiters));
    if (!parsed || *parsed != int64_t(T(*parsed)))
      return false;
    value = T(*parsed);
    return true;
  }
  bool number(float &value) {
    std::optional<float> parsed = parseFloat(word());
    value = parsed.value_or(0);
    return parsed.has_value();
  }
  bool number(double &value) {
    std::optional<double> parsed = parseDouble(word());
    value = parsed.value_or(0);
    return parsed.has_value();
  }

private:
  std::string_view rest;
};

} // namespace tlm

#endif // TLM_TASK_LINE_H
