//===- TaskTuner.h - the fastest schedule of one task -----------*- C++ -*-===//
//
// Budget, building, measuring and duplicates of a search. Each round the
// strategy proposes a batch, the batch is built on all cores, then measured on
// a machine that does nothing else. The default schedule, and a fixed one that
// knows nothing of the task, are always measured. At the end the fastest few
// and the default are measured again, in turn: a single measurement that was
// lucky does not win.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_TASKTUNER_H
#define TLM_SEARCH_TASKTUNER_H

#include "measure/Measure.h"
#include "search/Strategy.h"
#include "search/TrialLog.h"

#include <functional>
#include <string>
#include <vector>

namespace tlm {

struct TuneOptions {
  Target target;
  ScheduleOptions schedule;
  int64_t trials = 64;
  int64_t batch = 32;
  int64_t jobs = 1;
  uint64_t seed = 1;
  /// Candidates of the final, and rounds of it; without rounds there is none.
  int64_t finalists = 4, finalRounds = 5;
  MeasureOptions measure;
  /// Told of every batch as soon as it is measured; what it knows is not
  /// measured again, so a search that was stopped is taken up by the same call.
  TrialLog *log = nullptr;
};

struct TuneResult {
  /// In order; the default schedule is the first, the fixed one the second,
  /// where they differ.
  std::vector<Trial> trials;
  Schedule defaultSchedule, fixedSchedule, bestSchedule;
  /// Of the final: medians over its rounds of each round's minimum.
  double defaultMicroseconds = 0, fixedMicroseconds = 0, bestMicroseconds = 0;
  double buildSeconds = 0, measureSeconds = 0;
  int64_t remembered = 0; ///< trials that the log knew
};

/// Tiles of 2 vectors by 7, one chunk a thread, no algorithm but the direct one
/// and no prefetching: what a compiler without a choice would do.
Schedule fixedSchedule(const Space &space, const Target &target);

/// `progress` is told the number of trials done after each batch.
TuneResult tuneTask(const Task &task, const StrategyInfo &strategy,
                    const TuneOptions &options,
                    const std::function<void(int64_t done)> &progress = {});

} // namespace tlm

#endif // TLM_SEARCH_TASKTUNER_H
