//===- EstimateRanks.h - does the estimate order as the clock does? -------===//
//
// An estimate, by arithmetic or learnt, labels sentences that nobody measured;
// what it is worth follows from measured records: per task and target, how it
// orders the candidates.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_ESTIMATERANKS_H
#define TLM_TRAIN_ESTIMATERANKS_H

#include "train/MeasuredTasks.h"
#include "train/ScheduleSentences.h"

#include <map>

namespace tlm {

/// Measured times closer than this are no order.
inline constexpr double kSameTime = 0.02;

/// Sums over pairs of task and target.
struct RankSums {
  int64_t tasks = 0, candidates = 0;
  int64_t pairs = 0, rightPairs = 0; ///< of candidates whose times differ
  double spearman = 0;               ///< sum over the tasks
  double logLoss = 0; ///< sum of log(time of the estimate's first / best time)

  RankSums &operator+=(const RankSums &other);
};

/// Spearman's rho: the correlation of the ranks, equal values having the mean
/// of theirs. 0 where one side is constant.
double spearman(const std::vector<double> &a, const std::vector<double> &b);

/// Of one task: what the clock said and what the estimate says.
RankSums rankSums(const std::vector<double> &measured,
                  const std::vector<double> &estimated);

/// What estimates the times of one task's schedules.
using EstimateOfTask =
    std::function<TimeEstimate(const Task &, const Target &)>;
/// KernelEstimate.h.
TimeEstimate arithmeticEstimate(const Task &task, const Target &target);

/// By kind; of the `wanted` tasks with at least kCandidatesForQuality timed
/// candidates of this version of the compiler that are leaves of today's
/// spaces.
using RanksByKind = std::map<TaskKind, RankSums>;
Result<RanksByKind>
estimateRanks(const Store &store, const EstimateOfTask &estimateOf,
              const std::function<bool(const Task &)> &wanted);

/// Of LearnedEstimate.h: the contractions are dealt into `folds` parts, and the
/// tasks of each are ordered by what was learnt from the others.
Result<RanksByKind>
learnedRanks(const Store &store, int64_t folds,
             const std::function<bool(const Task &)> &wanted);

} // namespace tlm

#endif // TLM_TRAIN_ESTIMATERANKS_H
