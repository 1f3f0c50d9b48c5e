#include "import/ImportOptions.h"

#include "graph/ShapeRule.h"

#include <charconv>
#include <optional>

using namespace tlm;

namespace {

std::optional<int64_t> parseNumber(std::string_view text) {
  int64_t number = 0;
  auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::optional<Dims> parseDims(std::string_view text) {
  bool bracketed =
      text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (bracketed)
    text = text.substr(1, text.size() - 2);
  Dims dims;
  if (text.empty())
    return bracketed ? std::optional(dims) : std::nullopt;
  while (true) {
    size_t end = text.find_first_of(bracketed ? "," : "x,");
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ')
      part.remove_prefix(1);
    std::optional<int64_t> dim = part == "?" ? -1 : parseNumber(part);
    if (!dim || *dim < -1)
      return std::nullopt;
    dims.push_back(*dim);
    if (end == std::string_view::npos)
      return dims;
    text.remove_prefix(end + 1);
  }
}

} // namespace

Result<ShapeOverride> tlm::parseShape(std::string_view text) {
  size_t colon = text.rfind(':');
  std::string_view name =
      colon == std::string_view::npos ? "" : text.substr(0, colon);
  std::optional<Dims> dims = parseDims(
      colon == std::string_view::npos ? text : text.substr(colon + 1));
  bool known = dims.has_value();
  if (known) {
    Dims positive = *dims;
    for (int64_t &dim : positive)
      dim = dim < 0 ? 1 : dim;
    known = checkedCountOf(positive).has_value();
  }
  if (!known)
    return makeError("--shape '" + std::string(text) + "' has no readable dims",
                     "write --shape x:1x3x224x224 or --shape x:[1,3,224,224]",
                     ErrorCode::Usage);
  return ShapeOverride{std::string(name), std::move(*dims)};
}

Result<std::pair<std::string, int64_t>> tlm::parseDim(std::string_view text) {
  size_t equals = text.rfind('=');
  std::optional<int64_t> value = equals == std::string_view::npos || equals == 0
                                     ? std::nullopt
                                     : parseNumber(text.substr(equals + 1));
  if (!value || *value < 0 || *value > kMaxElements)
    return makeError("--dim '" + std::string(text) +
                         "' is not of the form symbol=number",
                     "write --dim batch=8", ErrorCode::Usage);
  return std::pair(std::string(text.substr(0, equals)), *value);
}
