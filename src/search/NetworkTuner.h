//===- NetworkTuner.h - a budget over the tasks of a network ----*- C++ -*-===//
//
// Two ways to spend a budget. With trials for each task, tasks are tuned one
// after the other, in the order given, and the schedules of the finished ones
// are known to the next (SearchInput::known). With a total of trials or of
// seconds, a round at a time goes to the task that promises most
// (TaskScheduler.h), and the finals of all tasks come at the end. Cost models
// are shared in both.
//
// It may be stopped at any moment: what has been measured is the result.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_NETWORKTUNER_H
#define TLM_SEARCH_NETWORKTUNER_H

#include "search/TaskTuner.h"

#include <atomic>
#include <functional>

namespace tlm {

struct TuneJob {
  Task task;
  double weight = 1;                ///< calls in the network
  std::vector<Schedule> given = {}; ///< TaskContext::given
  TrialLog *log = nullptr;
  std::vector<Schedule> written = {}; ///< TaskContext::written
};

struct TuneBudget {
  int64_t trialsPerTask = 64;
  /// Over all tasks, finals not counted; 0: no bound.
  int64_t totalTrials = 0;
  /// For all of it, about; 0: no bound.
  double seconds = 0;
  /// A task ends after so many trials without a faster one; 0: it does not.
  int64_t earlyStop = 0;

  bool isShared() const { return totalTrials > 0 || seconds > 0; }
};

struct TuneEvents {
  /// After every round of a task; false ends the tuning as `stop` does.
  std::function<bool(size_t job, const TaskTuner &)> onRound;
  /// A task is done; in any order.
  std::function<void(size_t job, const TuneResult &)> onResult;
};

/// One result a job, without trials where the budget did not reach it. `known`
/// is of any tasks, this process's or recorded ones. Once `stop` is true, the
/// round that runs is the last, and results are those of the trials.
std::vector<TuneResult>
tuneNetwork(const std::vector<TuneJob> &jobs, const StrategyInfo &strategy,
            const TuneOptions &options, const TuneBudget &budget,
            std::vector<KnownSchedule> known, const std::atomic<bool> &stop,
            const TuneEvents &events = {});

} // namespace tlm

#endif // TLM_SEARCH_NETWORKTUNER_H
