//===- DefaultSchedule.h - the analytical pick ------------------*- C++ -*-===//
//
// One readable rule per task kind; the fallback for ever, and the baseline that
// any search or model has to beat. It wishes for values and takes the nearest
// ones that the Space offers. What it reasons with:
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

#include "space/Space.h"

#include <span>

namespace tlm {

/// The largest of one or more choices that is not above the wish; the
/// first where all are.
int64_t nearestBelow(std::span<const int64_t> choices, int64_t wish);

/// A leaf of Space(task, target, options).
Schedule defaultSchedule(const Task &task, const Target &target,
                         const ScheduleOptions &options = {});

/// The plain schedule: loops as written, for any task.
Schedule plainSchedule(const Task &task);

} // namespace tlm

#endif // TLM_SPACE_DEFAULTSCHEDULE_H
