//===- Hardware.h - a machine as the model sees it --------------*- C++ -*-===//
//
// What decides which schedule is fast, and no names: a model that has seen some
// machines meets another one by its numbers. Sentence:
//
//   [HW] x86 v4 ~2^9 *512   family, level, vector bits
//        ~2^5 *32 2         vector registers, FMAs a cycle
//        ...  ...  ...      L1d, L2 and L3 in bytes
//        2                  cores used
//        log7 log4.5 [?]    GFLOPS of a core, GB/s of L2, GB/s of memory
//
// In this order, each [?] where it is not known. The measured ones are rounded
// to half powers of two: log4.5 is 2^4.5.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_HARDWARE_H
#define TLM_LANG_HARDWARE_H

#include "lang/TokenReader.h"
#include "target/Target.h"

#include <array>
#include <optional>

namespace tlm {

/// What was measured of a machine, where it was.
struct MeasuredSpeed {
  std::optional<double> coreGflops, l2GigabytesPerSecond,
      memoryGigabytesPerSecond;
};

struct Hardware {
  enum Number {
    VectorBits,
    VectorRegisters,
    FmaUnits,
    L1dBytes,
    L2Bytes,
    L3Bytes,
    Cores,
    NumberCount
  };
  enum Speed { CoreGflops, L2Bandwidth, MemoryBandwidth, SpeedCount };

  std::optional<int> family; ///< index into kFamilies: "x86"
  std::optional<int> level;  ///< into kLevels: "v2", "v3", "v4"
  std::array<std::optional<int64_t>, NumberCount> numbers;
  /// Halves of log2, 0 to kMostSpeed.
  std::array<std::optional<int>, SpeedCount> speeds;

  static constexpr int kMostSpeed = 40;
  static Hardware of(const Target &target, const MeasuredSpeed &measured = {});
  bool operator==(const Hardware &) const = default;
};

/// [HW] and what follows it.
void appendHardware(std::vector<Token> &tokens, const Hardware &hardware);
Result<Hardware> readHardware(TokenReader &reader);

/// The words of machines, for neededWords().
std::vector<std::string> neededHardwareWords();

} // namespace tlm

#endif // TLM_LANG_HARDWARE_H
