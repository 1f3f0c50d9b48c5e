#include "records/TargetKey.h"

#include "base/Hash.h"
#include "base/NumberText.h"

#include <algorithm>
#include <string_view>

using namespace tlm;

std::string tlm::targetText(const Target &target) {
  return target.text() + " threads=" + std::to_string(target.threads);
}

/// What stands behind " name=", up to the next space.
static std::string_view field(std::string_view text, std::string_view name) {
  size_t at = text.find(name);
  if (at == text.npos)
    return {};
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find(' '));
}

Result<std::string> tlm::targetKey(const std::string &text) {
  bool printable = std::all_of(text.begin(), text.end(),
                               [](char c) { return c >= ' ' && c <= '~'; });
  std::string_view cpu = field(text, " cpu="),
                   threads = field(text, " threads=");
  std::optional<int64_t> count = parseInteger(threads);
  if (!printable || cpu.empty() || !count || *count < 1)
    return makeError("expected a target as 'TRIPLE cpu=NAME features=LIST "
                     "l1d=BYTES l2=BYTES l3=BYTES threads=N'");
  return std::string(cpu) + "." + std::to_string(*count) + "t." +
         hexText(hash64(text));
}

std::string tlm::targetKey(const Target &target) {
  return *targetKey(targetText(target));
}
