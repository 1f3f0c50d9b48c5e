#include "records/Lookup.h"

#include "records/TargetKey.h"

#include <algorithm>

using namespace tlm;

std::string_view tlm::nameOf(LookupOutcome outcome) {
  switch (outcome) {
  case LookupOutcome::Found:
    return "found";
  case LookupOutcome::NoRecord:
    return "no record of the task";
  case LookupOutcome::OtherTarget:
    return "records of other targets only";
  case LookupOutcome::OtherVersion:
    return "records of other versions only";
  case LookupOutcome::NoneOk:
    return "no candidate that ran and was right";
  case LookupOutcome::NotLegal:
    return "no candidate that is legal here";
  }
  return "?";
}

/// The first few, without repetition.
static std::string someOf(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::string text;
  for (size_t i = 0; i < words.size() && i < 3; ++i)
    text += (i ? ", " : "") + words[i];
  return text + (words.size() > 3 ? ", ..." : "");
}

Result<Lookup> tlm::lookUp(const Store &store, const Task &task,
                           const Target &target, const Space &space) {
  Lookup result;
  std::string key = task.key();
  TLM_TRY(std::vector<Record> records, store.find(key, targetKey(target)));
  if (records.empty()) {
    TLM_TRY(std::vector<std::string> others, store.targetsOf(key));
    result.outcome =
        others.empty() ? LookupOutcome::NoRecord : LookupOutcome::OtherTarget;
    result.detail = someOf(others);
    return result;
  }
  std::vector<std::string> versions;
  for (const Record &record : records)
    versions.push_back(record.maker.compiler);
  std::string textVersion =
      "tlm-schedule " + std::to_string(kScheduleVersion) + "\n";
  std::erase_if(records, [&](const Record &record) {
    return record.maker.compiler != compilerVersion() ||
           !record.schedule.starts_with(textVersion);
  });
  if (records.empty()) {
    result.outcome = LookupOutcome::OtherVersion;
    result.detail = someOf(versions);
    return result;
  }
  std::vector<RankedCandidate> ranked = rankCandidates(records);
  result.outcome =
      ranked.empty() ? LookupOutcome::NoneOk : LookupOutcome::NotLegal;
  for (RankedCandidate &candidate : ranked) {
    Result<Schedule> schedule = parseSchedule(candidate.schedule);
    Status legal = schedule ? space.check(*schedule) : schedule.error();
    if (!legal) {
      if (result.detail.empty())
        result.detail = legal.error().message;
      continue;
    }
    result.outcome = LookupOutcome::Found;
    result.detail.clear();
    result.schedule = std::move(*schedule);
    result.candidate = std::move(candidate);
    return result;
  }
  return result;
}
