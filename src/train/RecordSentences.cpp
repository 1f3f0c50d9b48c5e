#include "train/RecordSentences.h"

#include <algorithm>

using namespace tlm;

/// With their buckets, where enough candidates are known.
static std::vector<LabelledSchedule>
labelled(const std::vector<MeasuredCandidate> &candidates) {
  double best = 0;
  for (const MeasuredCandidate &candidate : candidates)
    best = best == 0 ? candidate.microseconds
                     : std::min(best, candidate.microseconds);
  std::vector<LabelledSchedule> schedules;
  for (const MeasuredCandidate &candidate : candidates) {
    Quality quality;
    if (int64_t(candidates.size()) >= kCandidatesForQuality)
      quality = qualityBucket(best / candidate.microseconds);
    schedules.push_back({candidate.schedule, quality});
  }
  return schedules;
}

Result<RecordSentences>
tlm::sentencesOfRecords(const Store &store, const SentenceOptions &options,
                        uint64_t seed,
                        const std::function<bool(const Task &)> &wanted) {
  RecordSentences result;
  Random random(seed);
  auto visit = [&](const MeasuredTask &measured) {
    std::vector<LabelledSchedule> schedules = labelled(measured.candidates);
    // The branches of a group are of all qualities.
    for (size_t i = schedules.size(); i > 1; --i)
      std::swap(schedules[i - 1], schedules[random.below(i)]);
    SentenceSet set = sentencesOf(Hardware::of(measured.target), measured.task,
                                  measured.space, schedules, options, random);
    if (!set.groups.empty()) {
      ++result.tasks;
      result.withoutQuality += schedules.front().quality ? 0 : 1;
    }
    result.set.append(std::move(set));
  };
  TLM_TRY(result.unreadable, forEachMeasuredTask(store, wanted, visit));
  return result;
}
