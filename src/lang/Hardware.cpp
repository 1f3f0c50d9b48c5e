//===- Hardware.cpp -------------------------------------------------------===//

#include "lang/Hardware.h"

#include "base/NumberText.h"
#include "lang/NumberWords.h"

#include <algorithm>
#include <cmath>

namespace tlm {
namespace {

constexpr std::string_view kFamilies[] = {"x86"};
constexpr std::string_view kLevels[] = {"v2", "v3", "v4"};

/// Multiply-adds of whole vectors that a core starts a cycle.
struct FmaRow {
  std::string_view cpu;
  int64_t units;
};
constexpr FmaRow kFmaUnits[] = {
    {"haswell", 2},        {"broadwell", 2},     {"skylake", 2},
    {"skylake-avx512", 2}, {"cascadelake", 2},   {"icelake-server", 2},
    {"sapphirerapids", 2}, {"emeraldrapids", 2}, {"graniterapids", 2},
    {"znver2", 2},         {"znver3", 2},        {"znver4", 1},
    {"znver5", 2},
};

std::optional<int64_t> fmaUnits(const std::string &cpu) {
  for (const FmaRow &row : kFmaUnits)
    if (row.cpu == cpu)
      return row.units;
  return std::nullopt;
}

int levelOf(const Target &target) {
  auto has = [&](std::string_view feature) {
    return std::find(target.features.begin(), target.features.end(), feature) !=
           target.features.end();
  };
  return has("avx512f") ? 2 : has("avx2") && has("fma") ? 1 : 0;
}

std::optional<int> speedBucket(std::optional<double> value) {
  if (!value || !(*value > 0))
    return std::nullopt;
  double halves = std::round(2 * std::log2(*value));
  return int(std::clamp(halves, 0.0, double(Hardware::kMostSpeed)));
}

std::string speedWord(int bucket) {
  return "log" + floatText(float(bucket) / 2);
}

std::string familyWord(int family) { return std::string(kFamilies[family]); }
std::string levelWord(int level) { return std::string(kLevels[level]); }

using WordOf = std::string (*)(int);

void append(std::vector<Token> &tokens, std::optional<int> value,
            WordOf wordOf) {
  tokens.push_back(value ? Vocabulary::get().at(wordOf(*value)) : kUnknown);
}

Result<std::optional<int>> read(TokenReader &reader, int count, WordOf wordOf,
                                const char *what) {
  if (reader.take(kUnknown))
    return std::optional<int>();
  for (int value = 0; value < count; ++value)
    if (reader.take(wordOf(value)))
      return std::optional<int>(value);
  return reader.error(std::string("expected ") + what + " or [?]");
}

} // namespace

Hardware Hardware::of(const Target &target, const MeasuredSpeed &measured) {
  Hardware hardware;
  if (target.triple.starts_with("x86_64")) {
    hardware.family = 0;
    hardware.level = levelOf(target);
  }
  hardware.numbers = {target.vectorBits,    target.vectorRegisters,
                      fmaUnits(target.cpu), target.l1dBytes,
                      target.l2Bytes,       target.l3Bytes,
                      target.threads};
  hardware.speeds = {speedBucket(measured.coreGflops),
                     speedBucket(measured.l2GigabytesPerSecond),
                     speedBucket(measured.memoryGigabytesPerSecond)};
  return hardware;
}

void appendHardware(std::vector<Token> &tokens, const Hardware &hardware) {
  tokens.push_back(kHardware);
  append(tokens, hardware.family, familyWord);
  append(tokens, hardware.level, levelWord);
  for (std::optional<int64_t> number : hardware.numbers)
    if (number)
      appendInteger(tokens, *number);
    else
      tokens.push_back(kUnknown);
  for (std::optional<int> speed : hardware.speeds)
    append(tokens, speed, speedWord);
}

Result<Hardware> readHardware(TokenReader &reader) {
  Hardware hardware;
  if (!reader.take(kHardware))
    return reader.error("expected [HW]");
  TLM_TRY(hardware.family, read(reader, int(std::size(kFamilies)), familyWord,
                                "a family of processors"));
  TLM_TRY(hardware.level,
          read(reader, int(std::size(kLevels)), levelWord, "a level"));
  for (std::optional<int64_t> &number : hardware.numbers)
    if (!reader.take(kUnknown)) {
      TLM_TRY(number, readInteger(reader));
    }
  for (std::optional<int> &speed : hardware.speeds) {
    TLM_TRY(speed,
            read(reader, Hardware::kMostSpeed + 1, speedWord, "a speed"));
  }
  return hardware;
}

std::vector<std::string> neededHardwareWords() {
  std::vector<std::string> words;
  for (std::string_view family : kFamilies)
    words.emplace_back(family);
  for (std::string_view level : kLevels)
    words.emplace_back(level);
  for (int bucket = 0; bucket <= Hardware::kMostSpeed; ++bucket)
    words.push_back(speedWord(bucket));
  return words;
}

} // namespace tlm
