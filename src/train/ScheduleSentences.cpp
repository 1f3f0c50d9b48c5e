#include "train/ScheduleSentences.h"

#include "lang/Answer.h"
#include "lang/Sentence.h"
#include "space/DefaultSchedule.h"
#include "space/Variation.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace tlm;

namespace {

bool happens(int64_t percent, Random &random) {
  return int64_t(random.below(100)) < percent;
}

Hardware partlyHidden(Hardware hardware, int64_t percent, Random &random) {
  auto hide = [&](auto &fact) {
    if (happens(percent, random))
      fact = std::nullopt;
  };
  hide(hardware.family);
  hide(hardware.level);
  for (auto &number : hardware.numbers)
    hide(number);
  for (auto &speed : hardware.speeds)
    hide(speed);
  return hardware;
}

Branch branchOf(const std::vector<Token> &answer, Quality quality,
                const SentenceOptions &options, Random &random) {
  bool judged = quality && happens(options.judgedPercent, random);
  Branch branch;
  branch.tokens = promptSuffix(judged ? std::nullopt : quality);
  branch.lossBegin = int32_t(branch.tokens.size());
  branch.tokens.insert(branch.tokens.end(), answer.begin(), answer.end());
  if (judged)
    branch.tokens.push_back(qualityToken(quality));
  return branch;
}

/// One to three mutations away.
Schedule nearDefault(const Space &space, const Schedule &center,
                     Random &random) {
  Schedule schedule = center;
  for (uint64_t steps = 1 + random.below(3); steps > 0; --steps)
    schedule = mutate(space, schedule, random);
  return schedule;
}

/// The different schedules so far, and which are best by the estimate.
class SampledSchedules {
public:
  SampledSchedules(const Task &task, const Space &space,
                   const TimeEstimate &estimate)
      : task(task), space(space), estimate(estimate) {}

  void take(Schedule schedule) {
    if (!seen.insert(schedule.text()).second)
      return;
    double time = estimate ? estimate(task, schedule) : 0;
    best.insert({time, schedules.size()});
    if (best.size() > kParents)
      best.erase(std::prev(best.end()));
    times.push_back(time);
    schedules.push_back(std::move(schedule));
  }
  int64_t size() const { return int64_t(schedules.size()); }
  /// A copy of the first one.
  Schedule center() const { return schedules.front(); }
  /// Of one of the best, or of two of them.
  Schedule child(Random &random) const {
    const Schedule &parent = schedules[drawParent(random)];
    if (random.below(3) == 0)
      return cross(space, parent, schedules[drawParent(random)], random);
    return mutate(space, parent, random);
  }
  /// In random order: groups are of all qualities.
  std::vector<LabelledSchedule> labelled(Random &random) {
    std::vector<LabelledSchedule> all;
    for (size_t i = 0; i < schedules.size(); ++i) {
      Quality quality;
      if (estimate)
        quality = qualityBucket(best.begin()->first / times[i]);
      all.push_back({std::move(schedules[i]), quality});
    }
    for (size_t i = estimate ? all.size() : 0; i > 1; --i)
      std::swap(all[i - 1], all[random.below(i)]);
    return all;
  }

private:
  static constexpr size_t kParents = 6;

  size_t drawParent(Random &random) const {
    return std::next(best.begin(), int64_t(random.below(best.size())))->second;
  }

  const Task &task;
  const Space &space;
  const TimeEstimate &estimate;
  std::set<std::string> seen;
  std::vector<Schedule> schedules;
  std::vector<double> times;
  std::set<std::pair<double, size_t>> best; ///< time, index; few
};

} // namespace

void SentenceSet::append(SentenceSet more) {
  std::ranges::move(more.groups, std::back_inserter(groups));
  schedules += more.schedules;
  notLegal += more.notLegal;
}

SentenceSet tlm::sentencesOf(const Hardware &hardware, const Task &task,
                             const Space &space,
                             const std::vector<LabelledSchedule> &schedules,
                             const SentenceOptions &options, Random &random) {
  SentenceSet set;
  std::vector<Branch> branches;
  for (const LabelledSchedule &labelled : schedules) {
    Result<std::vector<Token>> tokens = answer(space, labelled.schedule);
    if (!tokens) {
      ++set.notLegal;
      continue;
    }
    ++set.schedules;
    branches.push_back(branchOf(*tokens, labelled.quality, options, random));
  }
  // Groups of about the same size.
  auto count = int64_t(branches.size());
  int64_t groups = (count + options.branches - 1) / options.branches;
  for (int64_t g = 0; g < groups; ++g)
    set.groups.push_back(
        {promptPrefix(partlyHidden(hardware, options.hiddenPercent, random),
                      task),
         {branches.begin() + count * g / groups,
          branches.begin() + count * (g + 1) / groups}});
  return set;
}

std::vector<LabelledSchedule>
tlm::randomSchedules(const Task &task, const Target &target, const Space &space,
                     int64_t count, const TimeEstimate &estimate,
                     Random &random) {
  SampledSchedules sampled(task, space, estimate);
  sampled.take(defaultSchedule(task, target));
  const Schedule center = sampled.center();
  // Small spaces have fewer leaves than asked for.
  for (int64_t tries = 0; tries < 4 * count && sampled.size() < count; ++tries)
    if (!estimate || tries % 4 == 0)
      sampled.take(space.sample(random));
    else
      sampled.take(tries % 4 == 1 ? nearDefault(space, center, random)
                                  : sampled.child(random));
  return sampled.labelled(random);
}

VocabularyId tlm::vocabularyIdOfLanguage() {
  std::string text = Vocabulary::get().hash();
  VocabularyId id;
  id.version = kLanguageVersion;
  std::from_chars(text.data(), text.data() + text.size(), id.hash, 16);
  return id;
}
