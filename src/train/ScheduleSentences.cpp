#include "train/ScheduleSentences.h"

#include "lang/Answer.h"
#include "lang/Sentence.h"
#include "space/DefaultSchedule.h"

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
  std::vector<LabelledSchedule> schedules;
  std::set<std::string> seen;
  auto take = [&](Schedule schedule) {
    if (seen.insert(schedule.text()).second)
      schedules.push_back({std::move(schedule), std::nullopt});
  };
  take(defaultSchedule(task, target));
  // Small spaces have fewer leaves than asked for.
  for (int64_t tries = 0; tries < 4 * count && int64_t(seen.size()) < count;
       ++tries)
    take(space.sample(random));
  if (!estimate)
    return schedules;
  std::vector<double> times;
  for (const LabelledSchedule &labelled : schedules)
    times.push_back(estimate(task, labelled.schedule));
  double best = *std::ranges::min_element(times);
  for (size_t i = 0; i < schedules.size(); ++i)
    schedules[i].quality = qualityBucket(best / times[i]);
  return schedules;
}

VocabularyId tlm::vocabularyIdOfLanguage() {
  std::string text = Vocabulary::get().hash();
  VocabularyId id;
  id.version = kLanguageVersion;
  std::from_chars(text.data(), text.data() + text.size(), id.hash, 16);
  return id;
}
