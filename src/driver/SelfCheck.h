//===- SelfCheck.h - the phase that runs every kernel -----------*- C++ -*-===//

#ifndef TLM_DRIVER_SELFCHECK_H
#define TLM_DRIVER_SELFCHECK_H

#include "driver/Compile.h"

namespace tlm {

/// Runs every kernel once (KernelCheck.h), unless this machine lacks a feature
/// of the target. A wrong one is compiled again with the schedule that it falls
/// back to and checked again; an error when the plain one is wrong. Returns the
/// detail of the phase's line.
Result<std::string> runSelfCheck(const CompileOptions &options,
                                 Compilation &compilation);

/// What a task is compiled with when its kernel of `schedule` is none or wrong:
/// the default schedule, after that the plain one, after that nothing.
std::optional<Schedule> fallbackSchedule(const CompileOptions &options,
                                         const Task &task,
                                         const Schedule &schedule);

/// What symbols of a task's kernel start with.
std::string kernelPrefix(size_t task);

/// The warning for a task with a fallbackReason.
std::string fallbackWarning(const Compilation &compilation, size_t task);

} // namespace tlm

#endif // TLM_DRIVER_SELFCHECK_H
