//===- MeasuredTasks.h - the candidates of a store, task by task -*- C++ -*-==//

#ifndef TLM_TRAIN_MEASUREDTASKS_H
#define TLM_TRAIN_MEASUREDTASKS_H

#include "records/Store.h"
#include "space/Space.h"

#include <functional>
#include <set>
#include <vector>

namespace tlm {

struct MeasuredCandidate {
  Schedule schedule;
  double microseconds = 0;      ///< Ranking.h, without its margins
  bool drifted = false;         ///< never measured on a quiet machine
  bool cutOff = false;          ///< the time is of one run
  std::set<std::string> builds; ///< that measured it
};

/// A task on one target.
struct MeasuredTask {
  const Task &task;
  const Target &target;
  const Space &space;
  /// The best first, those that were cut off last; of this version of the
  /// compiler. Not all need be leaves of today's space.
  std::vector<MeasuredCandidate> candidates;
};

/// Those of `wanted` tasks, in the order of their keys. Returns how many tasks
/// and targets are not understood.
Result<int64_t>
forEachMeasuredTask(const Store &store,
                    const std::function<bool(const Task &)> &wanted,
                    const std::function<void(const MeasuredTask &)> &visit);

/// The machine of a stored text (TargetKey.h).
Result<Target> targetOfText(const std::string &text);

} // namespace tlm

#endif // TLM_TRAIN_MEASUREDTASKS_H
