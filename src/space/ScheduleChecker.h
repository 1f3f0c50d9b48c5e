//===- ScheduleChecker.h - a second opinion on a schedule -------*- C++ -*-===//
//
// Replays what the templates of lower/ do with a schedule and says what would
// go wrong: iterations covered twice or not at all, operands read or written
// beyond their ends, scratch, registers and code size over their bounds, a
// decision that is missing, unused or without effect. It shares no code with
// Space, its rules and its limits, so that each can be tested against the
// other.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_SCHEDULECHECKER_H
#define TLM_SPACE_SCHEDULECHECKER_H

#include "space/Schedule.h"
#include "target/Target.h"
#include "task/Task.h"

#include <string>

namespace tlm {

/// What is wrong, or empty.
std::string checkSchedule(const Task &task, const Target &target,
                          const Schedule &schedule);

} // namespace tlm

#endif // TLM_SPACE_SCHEDULECHECKER_H
