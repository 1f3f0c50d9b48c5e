//===- Phases.h - the order of a compilation --------------------*- C++ -*-===//

#ifndef TLM_DRIVER_PHASES_H
#define TLM_DRIVER_PHASES_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tlm {

/// What compileModel does, in order.
enum class Phase : int32_t {
  Import = 0,
  Graph = 1,
  Partition = 2,
  Schedules = 3,
  Inference = 4,
  Measure = 5,
  Lower = 6,
  SelfCheck = 7,
  Link = 8,
  Verify = 9,
};

struct PhaseInfo {
  Phase phase;
  const char *name;
  const char *sentence;
};

/// All phases in order, each with a sentence.
std::span<const PhaseInfo> phases();
const char *nameOf(Phase phase);

/// What a finished phase tells.
struct PhaseReport {
  Phase phase = Phase::Import;
  double seconds = 0;
  int64_t peakBytes = 0; ///< largest resident memory of the process so far
  std::string detail;    ///< "122 nodes -> 67 kernels"
};

} // namespace tlm

#endif // TLM_DRIVER_PHASES_H
