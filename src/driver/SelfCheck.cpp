//===- SelfCheck.cpp - the phase that runs every kernel -------------------===//

#include "driver/SelfCheck.h"

#include "lower/KernelCheck.h"
#include "space/DefaultSchedule.h"

namespace tlm {

std::string kernelPrefix(size_t task) {
  return "k" + std::to_string(task) + "_";
}

std::optional<Schedule> fallbackSchedule(const CompileOptions &options,
                                         const Task &task,
                                         const Schedule &schedule) {
  Schedule plain = plainSchedule(task);
  if (schedule == plain)
    return std::nullopt;
  Schedule byRules = defaultSchedule(task, options.target, options.schedule);
  return schedule == byRules ? plain : byRules;
}

std::string fallbackWarning(const Compilation &c, size_t task) {
  return "kernel " + c.plan.tasks[task].label() + " (task " +
         c.plan.tasks[task].key() + ") fell back to the " +
         (c.schedules[task] == plainSchedule(c.plan.tasks[task]) ? "plain"
                                                                 : "default") +
         " schedule: " + c.fallbackReasons[task];
}

static Result<std::vector<KernelVerdict>>
check(const Compilation &c, const std::vector<size_t> &tasks, int64_t jobs) {
  std::vector<KernelToCheck> kernels;
  for (size_t task : tasks)
    kernels.push_back({&c.plan.tasks[task], &c.kernels[task]});
  return checkKernels(kernels, jobs);
}

static Error stillWrong(const Task &task, const std::string &why) {
  return makeError("no right kernel for task " + task.label() + " (" +
                       task.key() + "), plain schedule: " + why,
                   "this is a bug of tlm; please report the model",
                   ErrorCode::Mismatch);
}

/// Another kernel in place of a wrong one.
static Status fallBack(const CompileOptions &options, Compilation &c,
                       size_t task, const std::string &wrong) {
  std::optional<Schedule> next =
      fallbackSchedule(options, c.plan.tasks[task], c.schedules[task]);
  if (!next)
    return stillWrong(c.plan.tasks[task], wrong);
  LowerOptions lowerOptions;
  lowerOptions.keepTexts = options.keepTexts;
  Result<Kernel> kernel = lowerTask(c.plan.tasks[task], *next, options.target,
                                    kernelPrefix(task), lowerOptions);
  if (!kernel)
    return stillWrong(c.plan.tasks[task],
                      kernel.error().message + "; before: " + wrong);
  c.kernels[task] = std::move(*kernel);
  c.schedules[task] = std::move(*next);
  std::string &reason = c.fallbackReasons[task];
  reason += (reason.empty() ? "" : "; ") + ("self check: " + wrong);
  c.warnings.push_back(fallbackWarning(c, task));
  return success();
}

Result<std::string> runSelfCheck(const CompileOptions &options,
                                 Compilation &c) {
  if (!options.checkKernels)
    return std::string("skipped: switched off");
  if (std::string missing = missingFeature(options.target); !missing.empty())
    return "skipped: this machine lacks " + missing;
  int64_t jobs = options.jobs ? options.jobs : usableCpus();
  std::vector<size_t> all(c.plan.tasks.size()), wrong;
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  TLM_TRY(std::vector<KernelVerdict> verdicts, check(c, all, jobs));
  int64_t points = 0, covered = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    points += verdicts[i].points;
    covered += verdicts[i].points > 0;
    if (verdicts[i].wrong.empty())
      continue;
    TLM_TRY_STATUS(fallBack(options, c, i, verdicts[i].wrong));
    wrong.push_back(i);
  }
  for (std::vector<size_t> again = wrong; !again.empty();) {
    TLM_TRY(verdicts, check(c, again, jobs));
    std::vector<size_t> still;
    for (size_t i = 0; i < again.size(); ++i) {
      if (verdicts[i].wrong.empty())
        continue;
      TLM_TRY_STATUS(fallBack(options, c, again[i], verdicts[i].wrong));
      still.push_back(again[i]);
    }
    again = std::move(still);
  }
  std::string text = std::to_string(covered) + " of " +
                     std::to_string(all.size()) + " kernels at " +
                     std::to_string(points) + " points";
  if (!wrong.empty())
    text += ", " + std::to_string(wrong.size()) + " fell back";
  return text + " -> OK";
}

} // namespace tlm
