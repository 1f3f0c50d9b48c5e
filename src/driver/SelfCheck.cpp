//===- SelfCheck.cpp - the phase that runs every kernel -------------------===//

#include "driver/SelfCheck.h"

#include "lower/KernelCheck.h"
#include "space/DefaultSchedule.h"

namespace tlm {

std::string kernelPrefix(size_t task) {
  return "k" + std::to_string(task) + "_";
}

std::string fallbackWarning(const Compilation &c, size_t task) {
  return "kernel " + c.plan.tasks[task].label() + " (task " +
         c.plan.tasks[task].key() +
         ") fell back to the plain schedule: " + c.fallbackReasons[task];
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

/// The plain kernel in place of a wrong one.
static Status fallBack(const CompileOptions &options, Compilation &c,
                       size_t task, const std::string &wrong) {
  Schedule plain = plainSchedule(c.plan.tasks[task]);
  if (c.schedules[task] == plain)
    return stillWrong(c.plan.tasks[task], wrong);
  LowerOptions lowerOptions;
  lowerOptions.keepTexts = options.keepTexts;
  Result<Kernel> kernel = lowerTask(c.plan.tasks[task], plain, options.target,
                                    kernelPrefix(task), lowerOptions);
  if (!kernel)
    return stillWrong(c.plan.tasks[task],
                      kernel.error().message + "; before: " + wrong);
  c.kernels[task] = std::move(*kernel);
  c.schedules[task] = std::move(plain);
  c.fallbackReasons[task] = "self check: " + wrong;
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
  TLM_TRY(verdicts, check(c, wrong, jobs));
  for (size_t i = 0; i < wrong.size(); ++i)
    if (!verdicts[i].wrong.empty())
      return stillWrong(c.plan.tasks[wrong[i]], verdicts[i].wrong);
  std::string text = std::to_string(covered) + " of " +
                     std::to_string(all.size()) + " kernels at " +
                     std::to_string(points) + " points";
  if (!wrong.empty())
    text += ", " + std::to_string(wrong.size()) +
            " fell back to the plain schedule";
  return text + " -> OK";
}

} // namespace tlm
