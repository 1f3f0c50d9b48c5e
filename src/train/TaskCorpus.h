//===- TaskCorpus.h - the tasks that are learnt from ------------*- C++ -*-===//
//
// The tasks of graphs, and mutated ones (TaskMutation.h) until there are as
// many as wanted, all different, all with something to decide. What holds a
// contraction that is held out (ContractionKey.h) is in none of them.
// Validation is split off by contraction, too: no task of it shares one with
// training.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_TASKCORPUS_H
#define TLM_TRAIN_TASKCORPUS_H

#include "target/Target.h"
#include "train/ContractionKey.h"

namespace tlm {

struct CorpusOptions {
  int64_t count = 24000; ///< of tasks to train on
  uint64_t seed = 1;
  int64_t validationPercent = 2; ///< of the contractions
};

struct TaskCorpus {
  std::vector<Task> training, validation;
  int64_t ofGraphs = 0;  ///< of the tasks to train on, not mutated
  int64_t heldOut = 0;   ///< draws left out: a held-out contraction
  int64_t undecided = 0; ///< draws left out: one schedule
};

/// The same tasks in the same order for the same tasks and options. Fewer than
/// wanted where `graphs` do not give so many.
TaskCorpus makeTaskCorpus(const std::vector<Task> &graphs,
                          const HeldOutKeys &heldOut, const Target &target,
                          const CorpusOptions &options);

/// Canonical texts (Task.h), one behind the other; so a file with one task is a
/// list, too. A folder stands for the *.task files in it.
Result<std::vector<Task>> readTaskLists(const std::vector<std::string> &paths);
Status writeTaskList(const std::string &path, const std::vector<Task> &tasks);

} // namespace tlm

#endif // TLM_TRAIN_TASKCORPUS_H
