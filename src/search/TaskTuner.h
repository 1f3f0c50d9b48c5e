//===- TaskTuner.h - the fastest schedule of one task -----------*- C++ -*-===//
//
// Building, measuring and duplicates of a search. Each round the strategy
// proposes a batch, the batch is built on all cores, then measured on a machine
// that does nothing else. The default schedule, and a fixed one that knows
// nothing of the task, are always measured. At the end the fastest few and the
// default are measured again, in turn: a single measurement that was lucky does
// not win.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_TASKTUNER_H
#define TLM_SEARCH_TASKTUNER_H

#include "measure/Measure.h"
#include "search/CostModel.h"
#include "search/Strategy.h"
#include "search/TrialLog.h"
#include "space/Variation.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tlm {

struct TuneOptions {
  Target target;
  ScheduleOptions schedule;
  int64_t batch = 16;
  int64_t jobs = 1;
  uint64_t seed = 1;
  /// Candidates of the final beside the default, the fixed and the given
  /// schedules, and rounds of it; without rounds there is none.
  int64_t finalists = 4, finalRounds = 5;
  MeasureOptions measure;
};

/// What a search of one task has beside its options.
struct TaskContext {
  std::span<const KnownSchedule> known = {};
  CostModel *model = nullptr;
  /// Schedules of the task that are measured first and stand in the final.
  std::vector<Schedule> given = {};
  /// By the language model, for the strategy `model`.
  std::span<const Schedule> written = {};
  /// What others have proposed for the task, and what became of it: the
  /// strategy is told, and none of it is a trial again.
  std::span<const Trial> observed = {};
  /// Told of every trial as soon as it is measured; what it knows is not
  /// measured again, so a search that was stopped is taken up by the same call.
  TrialLog *log = nullptr;
};

/// A candidate of the final; a time for each round, or their median where the
/// log knew it; none where it failed.
struct Finalist {
  Schedule schedule;
  std::vector<double> microseconds;

  double median() const;
};

struct TuneResult {
  /// In order; the default schedule is the first, the fixed one the second,
  /// where they differ.
  std::vector<Trial> trials;
  std::vector<Finalist> finalists;
  Schedule defaultSchedule, fixedSchedule, bestSchedule;
  /// Of the final: medians over its rounds of each round's minimum; without a
  /// final, of the trials.
  double defaultMicroseconds = 0, fixedMicroseconds = 0, bestMicroseconds = 0;
  double buildSeconds = 0, measureSeconds = 0;
  int64_t remembered = 0; ///< trials that the log knew
};

/// Tiles of 2 vectors by 7, one chunk a thread, no algorithm but the direct
/// one, one pass over the depth and no prefetching: what a compiler without a
/// choice would do.
Schedule fixedSchedule(const Space &space, const Target &target);

class TaskTuner {
public:
  /// All arguments outlive the tuner.
  TaskTuner(const Task &task, const StrategyInfo &strategy,
            const TuneOptions &options, TaskContext context = {});

  /// One batch of at most `most` trials, at least 1. How many it were: none
  /// when the strategy has no more ideas, or the space no more leaves.
  int64_t round(int64_t most);
  /// The final; ends the search.
  void finish();
  /// Instead of finish(): the fastest trial is the best, as it was measured.
  void finishUnmeasured();

  const TuneResult &result() const { return found; }
  TuneResult &&takeResult() { return std::move(found); }
  /// The fastest trial so far, and of the last round, which had so many; 0:
  /// none.
  double fastestMicroseconds() const { return fastest; }
  double lastMicroseconds() const { return last; }
  int64_t lastTrials() const { return lastCount; }
  /// Trials since the fastest one.
  int64_t trialsWithoutGain() const;

private:
  struct Built {
    Schedule schedule;
    std::optional<Result<Kernel>> kernel;
  };
  std::vector<Built> build(std::vector<Schedule> schedules);
  std::vector<Measurement> measureAll(
      const std::vector<Built> &built, bool check,
      const std::function<void(size_t, const Measurement &)> &measured = {});
  std::vector<Schedule> proposals(int64_t most);
  std::vector<Trial> tryBatch(std::vector<Schedule> batch);
  std::vector<Trial> finalists() const;
  bool recallFinal(const std::vector<Trial> &trials);
  void measureInTurn(std::vector<Trial> trials);

  const Task &task;
  const TuneOptions &options;
  Space space;
  std::unique_ptr<Strategy> strategy;
  Measurer measurer;
  TaskContext context;
  std::vector<Schedule> waiting; ///< to be tried next
  bool begun = false;
  KnownLeaves seen;
  TuneResult found;
  double cutOff = 0, fastest = 0, last = 0;
  size_t fastestTrial = 0;
  int64_t lastCount = 0;
};

} // namespace tlm

#endif // TLM_SEARCH_TASKTUNER_H
