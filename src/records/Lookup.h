//===- Lookup.h - the schedule that records know for a task -----*- C++ -*-===//

#ifndef TLM_RECORDS_LOOKUP_H
#define TLM_RECORDS_LOOKUP_H

#include "records/Ranking.h"
#include "records/Store.h"
#include "space/Space.h"

namespace tlm {

/// Why there is a schedule or none. Reports name these; ids are append-only.
enum class LookupOutcome : int32_t {
  Found = 0,
  NoRecord = 1,     ///< of the task
  OtherTarget = 2,  ///< of the task, but none on this target
  OtherVersion = 3, ///< here, but kernels of another version of the compiler
  NoneOk = 4,       ///< here, but no candidate that ran and was right
  NotLegal = 5,     ///< but the space has none of them (any more)
};
/// "found", "no record of the task", ...
std::string_view nameOf(LookupOutcome outcome);

struct Lookup {
  LookupOutcome outcome = LookupOutcome::NoRecord;
  /// Of the best candidate that is a leaf of the space.
  Schedule schedule;
  RankedCandidate candidate;
  /// Which other targets or versions, or what is not legal.
  std::string detail;

  bool isFound() const { return outcome == LookupOutcome::Found; }
};

/// `space` is of that task and target.
Result<Lookup> lookUp(const Store &store, const Task &task,
                      const Target &target, const Space &space);

} // namespace tlm

#endif // TLM_RECORDS_LOOKUP_H
