//===- DefaultSchedule.h - the analytical pick ------------------*- C++ -*-===//

#ifndef TLM_SPACE_DEFAULTSCHEDULE_H
#define TLM_SPACE_DEFAULTSCHEDULE_H

#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

namespace tlm {

/// One readable rule per task kind. Always lowers; the fallback for ever.
Schedule defaultSchedule(const Task &task, const Target &target);

/// The plain schedule: loops as written, for any task.
Schedule plainSchedule(const Task &task);

} // namespace tlm

#endif // TLM_SPACE_DEFAULTSCHEDULE_H
