//===- ScheduleSentences.h - schedules of a task as branches ----*- C++ -*-===//
//
// One prompt with the schedules of a task behind it. What is known of a
// schedule is its bucket of quality, or nothing. A schedule with a bucket
// becomes one of
//
//   [Q] q0.9 [ANS] choices [EOS]         asked for: conditions the answer
//   [Q] [?] [ANS] choices [EOS] q0.9     to be judged: only behind [?], or it
//                                        would be copied
//
// and one without a bucket [Q] [?] [ANS] choices [EOS]. Learnt is what comes
// after [ANS]. Facts about the machine are left out at random, so that a
// machine of which less is known can be asked about too.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_SCHEDULESENTENCES_H
#define TLM_TRAIN_SCHEDULESENTENCES_H

#include "base/Random.h"
#include "lang/Hardware.h"
#include "lang/Quality.h"
#include "space/Space.h"
#include "train/SentenceFile.h"

#include <functional>
#include <vector>

namespace tlm {

struct LabelledSchedule {
  Schedule schedule;
  Quality quality;
};

struct SentenceOptions {
  int64_t branches = 24;      ///< of a group, at most
  int64_t judgedPercent = 30; ///< of the schedules with a bucket
  int64_t hiddenPercent = 10; ///< of the facts about the machine
};

/// What came of some schedules.
struct SentenceSet {
  std::vector<SentenceGroup> groups;
  int64_t schedules = 0;
  int64_t notLegal = 0; ///< left out: no leaf of today's space

  void append(SentenceSet more);
};

/// As many groups as it takes. `space` is of the task.
SentenceSet sentencesOf(const Hardware &hardware, const Task &task,
                        const Space &space,
                        const std::vector<LabelledSchedule> &schedules,
                        const SentenceOptions &options, Random &random);

/// How good a schedule is, as far as one knows without measuring: a time of
/// any unit, of which only ratios count.
using TimeEstimate = std::function<double(const Task &, const Schedule &)>;

/// The default schedule and others, `count` at most, all different. Without an
/// estimate they are random and have no bucket. With one, a quarter is random,
/// a quarter a few mutations away from the default and half descend from the
/// best so far, in mixed order, so that every bucket has answers; it is best
/// estimate / own estimate among them.
std::vector<LabelledSchedule>
randomSchedules(const Task &task, const Target &target, const Space &space,
                int64_t count, const TimeEstimate &estimate, Random &random);

/// The vocabulary of this program, for writeSentences.
VocabularyId vocabularyIdOfLanguage();

} // namespace tlm

#endif // TLM_TRAIN_SCHEDULESENTENCES_H
