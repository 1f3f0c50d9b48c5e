//===- LanguageSource.h - the phases of the language model ------*- C++ -*-===//

#ifndef TLM_DRIVER_LANGUAGESOURCE_H
#define TLM_DRIVER_LANGUAGESOURCE_H

#include "driver/Compile.h"

#include <span>

namespace tlm {

/// Lets the language model write the schedules that no one gave and no record
/// has: `chosen` has one entry a task. Returns what it did.
Result<InferenceReport> writeSchedules(const CompileOptions &options,
                                       std::span<const Task> tasks,
                                       std::vector<ChosenSchedule> &chosen);

/// Measures the best answers of every task and the default schedule; the
/// fastest is chosen. Returns the detail of the phase's line. To be called
/// while no other thread of this process runs.
Result<std::string> measureSchedules(const CompileOptions &options,
                                     std::span<const Task> tasks,
                                     std::vector<ChosenSchedule> &chosen);

} // namespace tlm

#endif // TLM_DRIVER_LANGUAGESOURCE_H
