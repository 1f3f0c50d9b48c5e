#include "train/MeasuredTasks.h"

#include "base/NumberText.h"
#include "records/Ranking.h"
#include "records/TargetKey.h"
#include "target/x86/NamedCpus.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace tlm;

static std::vector<MeasuredCandidate>
candidatesOf(const std::vector<Record> &records) {
  std::vector<Record> current;
  std::map<std::string, std::set<std::string>> builds;
  for (const Record &record : records)
    if (record.maker.compiler == compilerVersion()) {
      current.push_back(record);
      builds[record.schedule].insert(record.maker.build);
    }
  std::vector<MeasuredCandidate> candidates;
  std::set<std::string> seen;
  // What does not parse is of another version of the text.
  auto add = [&](const std::string &text, double microseconds, bool drifted,
                 bool cutOff) {
    Result<Schedule> schedule = parseSchedule(text);
    if (seen.insert(text).second && schedule)
      candidates.push_back({std::move(*schedule), microseconds, drifted, cutOff,
                            builds.at(text)});
  };
  for (const RankedCandidate &ranked : rankCandidates(current))
    add(ranked.schedule, ranked.microseconds, ranked.drifted, false);
  for (const Record &record : current)
    if (record.measurement.outcome == Outcome::CutOff)
      add(record.schedule, record.measurement.minMicroseconds,
          record.isDrifted(), true);
  return candidates;
}

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

Result<int64_t> tlm::forEachMeasuredTask(
    const Store &store, const std::function<bool(const Task &)> &wanted,
    const std::function<void(const MeasuredTask &)> &visit) {
  int64_t unreadable = 0;
  TLM_TRY(auto taskTexts, store.taskTexts());
  TLM_TRY(auto targetTexts, store.targetTexts());
  std::map<std::string, Target> targets;
  for (const auto &[key, text] : targetTexts) {
    if (Result<Target> target = targetOfText(text))
      targets.emplace(key, std::move(*target));
    else
      ++unreadable;
  }
  for (const auto &[key, text] : taskTexts) {
    Result<Task> task = storedTask(key, text);
    if (!task) {
      ++unreadable;
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
      visit({*task, target->second, Space(*task, target->second),
             candidatesOf(records)});
    }
  }
  return unreadable;
}
