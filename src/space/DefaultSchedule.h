//===- DefaultSchedule.h - the analytical pick ------------------*- C++ -*-===//
//
// One readable rule per task kind; the fallback for ever, and the baseline that
// any search or model has to beat. What it reasons with:
//
//   register tile   cycles per reduction step of a tile of w pixels and r
//                   vectors: max(r*w FMAs / 2, (r+w) loads / 2, FMA latency 4)
//   chunks          enough for every worker with little imbalance, cut along
//                   the operand that is cheaper to read again
//   cache           a chunk's input stays in half of L2
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_DEFAULTSCHEDULE_H
#define TLM_SPACE_DEFAULTSCHEDULE_H

#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

namespace tlm {

struct ScheduleOptions {
  /// Allows algorithms with a stated error (Winograd: 1e-5 of the output's
  /// maximum).
  bool approximate = true;
};

/// Always lowers, or its task has only the plain form.
Schedule defaultSchedule(const Task &task, const Target &target,
                         const ScheduleOptions &options = {});

/// The plain schedule: loops as written, for any task.
Schedule plainSchedule(const Task &task);

} // namespace tlm

#endif // TLM_SPACE_DEFAULTSCHEDULE_H
