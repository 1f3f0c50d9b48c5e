//===- ModelProposals.h - what the language model proposes ------*- C++ -*-===//

#ifndef TLM_TOOLS_MODELPROPOSALS_H
#define TLM_TOOLS_MODELPROPOSALS_H

#include "Commands.h"
#include "driver/ScheduleWriter.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlm {

/// Schedules to be measured, as the strategy `model` proposes them: of each
/// task the likeliest answer, which is the one that tlm compile takes, then
/// those that the model expects most of among four times as many draws.
class ModelProposals {
public:
  ModelProposals(ScheduleWriter writer, int64_t count)
      : writer(std::move(writer)), count(count) {}

  /// At most `count` a task; none where the model cannot answer. All of them
  /// depend on the task, the target, the weights and the flags alone.
  std::vector<std::vector<Schedule>> of(std::span<const Task *const> tasks,
                                        const Target &target,
                                        const ScheduleOptions &options,
                                        int64_t jobs) const;

private:
  ScheduleWriter writer;
  int64_t count;
};

/// --model and --temperature.
class ProposalFlags {
public:
  void add(CLI::App &app);
  /// `count` proposals a task where `model` is among `strategies`; where it is
  /// not, nothing, and --model is refused.
  Result<std::optional<ModelProposals>>
  load(const std::vector<std::string> &strategies, int64_t count,
       uint64_t seed) const;

private:
  std::string folder;
  float temperature = 1;
};

} // namespace tlm

#endif // TLM_TOOLS_MODELPROPOSALS_H
