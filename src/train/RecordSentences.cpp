#include "train/RecordSentences.h"

#include "base/NumberText.h"
#include "records/Ranking.h"
#include "records/TargetKey.h"
#include "target/x86/NamedCpus.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace tlm;

namespace {

/// Candidates with their buckets, the best first.
std::vector<LabelledSchedule> labelled(const std::vector<Record> &records,
                                       bool &known) {
  std::vector<Record> current;
  for (const Record &record : records)
    if (record.maker.compiler == compilerVersion())
      current.push_back(record);
  struct Timed {
    std::string text;
    double microseconds;
  };
  std::vector<Timed> candidates;
  std::set<std::string> seen;
  for (const RankedCandidate &ranked : rankCandidates(current)) {
    candidates.push_back({ranked.schedule, ranked.microseconds});
    seen.insert(ranked.schedule);
  }
  for (const Record &record : current)
    if (record.measurement.outcome == Outcome::CutOff &&
        seen.insert(record.schedule).second)
      candidates.push_back(
          {record.schedule, record.measurement.minMicroseconds});

  known = int64_t(candidates.size()) >= kCandidatesForQuality;
  double best = 0;
  for (const Timed &candidate : candidates)
    best = best == 0 ? candidate.microseconds
                     : std::min(best, candidate.microseconds);
  std::vector<LabelledSchedule> schedules;
  for (const Timed &candidate : candidates) {
    Result<Schedule> schedule = parseSchedule(candidate.text);
    if (!schedule)
      continue; // of another version of the text
    Quality quality;
    if (known)
      quality = qualityBucket(best / candidate.microseconds);
    schedules.push_back({std::move(*schedule), quality});
  }
  return schedules;
}

} // namespace

Result<Target> tlm::targetOfText(const std::string &text) {
  Target target;
  std::istringstream words(text);
  words >> target.triple;
  for (std::string word; words >> word;) {
    size_t at = word.find('=');
    if (at == word.npos)
      continue;
    std::string name = word.substr(0, at), value = word.substr(at + 1);
    auto number = [&](int64_t &field) {
      field = parseInteger(value).value_or(-1);
    };
    if (name == "cpu") {
      target.cpu = value;
    } else if (name == "features") {
      std::istringstream list(value);
      for (std::string feature; std::getline(list, feature, ',');)
        target.features.push_back(feature);
    } else if (name == "l1d") {
      number(target.l1dBytes);
    } else if (name == "l2") {
      number(target.l2Bytes);
    } else if (name == "l3") {
      number(target.l3Bytes);
    } else if (name == "threads") {
      number(target.threads);
    }
  }
  if (targetText(target) != text ||
      std::min({target.l1dBytes, target.l2Bytes, target.l3Bytes,
                target.threads}) < 1)
    return makeError("the target '" + text + "' is not understood");
  x86::deriveVectorShape(target);
  return target;
}

Result<RecordSentences>
tlm::sentencesOfRecords(const Store &store, const SentenceOptions &options,
                        uint64_t seed,
                        const std::function<bool(const Task &)> &wanted) {
  RecordSentences result;
  TLM_TRY(auto taskTexts, store.taskTexts());
  TLM_TRY(auto targetTexts, store.targetTexts());
  std::map<std::string, Target> targets;
  for (const auto &[key, text] : targetTexts) {
    if (Result<Target> target = targetOfText(text))
      targets.emplace(key, std::move(*target));
    else
      ++result.unreadable;
  }
  Random random(seed);
  for (const auto &[key, text] : taskTexts) {
    Result<Task> task = storedTask(key, text);
    if (!task) {
      ++result.unreadable;
      continue;
    }
    if (!wanted(*task))
      continue;
    TLM_TRY(auto targetKeys, store.targetsOf(key));
    for (const std::string &targetKey : targetKeys) {
      auto target = targets.find(targetKey);
      if (target == targets.end())
        continue;
      TLM_TRY(auto records, store.find(key, targetKey));
      bool known = false;
      std::vector<LabelledSchedule> schedules = labelled(records, known);
      // The branches of a group are of all qualities.
      for (size_t i = schedules.size(); i > 1; --i)
        std::swap(schedules[i - 1], schedules[random.below(i)]);
      SentenceSet set =
          sentencesOf(Hardware::of(target->second), *task,
                      Space(*task, target->second), schedules, options, random);
      if (!set.groups.empty()) {
        ++result.tasks;
        result.withoutQuality += known ? 0 : 1;
      }
      result.set.append(std::move(set));
    }
  }
  return result;
}
