//===- Measurement.h - what became of a candidate ---------------*- C++ -*-===//

#ifndef TLM_RECORDS_MEASUREMENT_H
#define TLM_RECORDS_MEASUREMENT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tlm {

/// Ids are append-only: records store them.
enum class Outcome : int32_t {
  Ok = 0,
  Rejected = 1,    ///< no kernel; detail starts with a RejectReason's name
  WrongValues = 2, ///< differs from the task's evaluator
  Crashed = 3,     ///< a signal; detail names it
  TimedOut = 4,    ///< no answer within the limit
  OutOfMemory = 5, ///< beyond the memory limit
  Exited = 6,      ///< the process ended without an answer
  CutOff = 7,      ///< slower than the cut-off; the time is of one run
  NoTime = 8,      ///< the clock did not move
  Unloadable = 9,  ///< the object could not be linked into a process
};
std::string_view nameOf(Outcome outcome);

/// What a stored name stands for.
std::optional<Outcome> outcomeNamed(std::string_view name);

struct Measurement {
  Outcome outcome = Outcome::Ok;
  double minMicroseconds = 0, medianMicroseconds = 0;
  int32_t samples = 0;
  /// Of the calibration loop before this candidate, relative to the fastest
  /// seen; above kDrift the machine was not quiet.
  double slowdown = 1;
  std::string detail;
  /// Times the candidate was measured, in turn with others; when more than
  /// once, the figures are medians over the times.
  int32_t rounds = 1;

  bool isOk() const { return outcome == Outcome::Ok; }
};

/// A measurement with a larger slowdown is marked as drifted.
inline constexpr double kDrift = 1.08;

} // namespace tlm

#endif // TLM_RECORDS_MEASUREMENT_H
