//===- RecordSentences.h - what was measured, as sentences ------*- C++ -*-===//

#ifndef TLM_TRAIN_RECORDSENTENCES_H
#define TLM_TRAIN_RECORDSENTENCES_H

#include "train/MeasuredTasks.h"
#include "train/ScheduleSentences.h"

#include <functional>

namespace tlm {

/// Fewer candidates than this do not tell what a task's best time is: their
/// buckets are unknown.
inline constexpr int64_t kCandidatesForQuality = 8;

struct RecordSentences {
  SentenceSet set;
  int64_t tasks = 0;          ///< pairs of task and target with sentences
  int64_t unreadable = 0;     ///< tasks and targets that are not understood
  int64_t withoutQuality = 0; ///< pairs with too few candidates
};

/// Buckets are best time / own time among the candidates of a task on a target,
/// candidates that were cut off included. The order depends on the records and
/// `seed` only. `wanted` says which tasks.
Result<RecordSentences>
sentencesOfRecords(const Store &store, const SentenceOptions &options,
                   uint64_t seed,
                   const std::function<bool(const Task &)> &wanted);

} // namespace tlm

#endif // TLM_TRAIN_RECORDSENTENCES_H
