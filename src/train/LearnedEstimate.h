//===- LearnedEstimate.h - times, by what was measured of other tasks -----===//
//
// Boosted trees (search/BoostedTrees.h) from the features of a schedule, those
// of its task's default schedule and their difference, to the logarithm of
// default time / own time. Against the default: how fast a kernel can be on a
// machine is in both, and what is left is what schedules differ by. Where the
// default was not measured, as it was another one then, it is the fastest.
//
// Labels a hundred times as many schedules as can be measured, for the language
// model to learn from; it orders the candidates of unseen tasks far better than
// the arithmetic of KernelEstimate.h, whose terms are among its features
// (docs/training.md has the figures).
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_LEARNEDESTIMATE_H
#define TLM_TRAIN_LEARNEDESTIMATE_H

#include "records/Store.h"
#include "search/BoostedTrees.h"
#include "train/ScheduleSentences.h"

#include <functional>
#include <set>

namespace tlm {

class LearnedEstimate {
public:
  /// From all targets of the store; `wanted` says which tasks. What was only
  /// measured on a machine that was not quiet, or by one of the `distrusted`
  /// builds (Record.h), counts less. An error where no task has two candidates
  /// that differ.
  static Result<LearnedEstimate>
  fit(const Store &store, const std::function<bool(const Task &)> &wanted,
      const std::set<std::string> &distrusted = {});

  /// Of schedules of one task; the unit is the time of the default schedule.
  /// `this` outlives it.
  TimeEstimate of(const Task &task, const Target &target) const;

  int64_t tasks() const { return taskCount; }
  int64_t candidates() const { return candidateCount; }

private:
  BoostedTrees trees;
  int64_t taskCount = 0, candidateCount = 0;
};

} // namespace tlm

#endif // TLM_TRAIN_LEARNEDESTIMATE_H
