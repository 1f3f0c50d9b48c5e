#include "search/RecordLog.h"

#include "records/Store.h"
#include "records/TargetKey.h"

#include <ctime>

using namespace tlm;

RecordLog::RecordLog(const RecordLogOptions &options, const Task &task)
    : options(options), taskKey(task.key()),
      targetKeyText(targetKey(options.target)) {
  texts.tasks[taskKey] = task.text();
  texts.targets[targetKeyText] = targetText(options.target);
}

Result<RecordLog> RecordLog::open(const RecordLogOptions &options,
                                  const Task &task) {
  RecordLog log(options, task);
  TLM_TRY(Store store,
          Store::open(options.path, Store::Access::Create, /*examine=*/false));
  TLM_TRY(std::vector<Record> records,
          store.find(log.taskKey, log.targetKeyText));
  for (const Record &record : records)
    if (record.maker.compiler == options.maker.compiler)
      log.know(record.schedule, record.measurement);
  return log;
}

std::optional<Measurement> RecordLog::find(const Schedule &schedule,
                                           int32_t rounds) {
  auto found = known.find(schedule.text());
  if (found == known.end())
    return std::nullopt;
  // The oldest, so that a search that is taken up sees what it saw before.
  for (const Measurement &measurement : found->second)
    if (measurement.rounds >= rounds)
      return measurement;
  return std::nullopt;
}

Status RecordLog::commit(const RecordSet &set) {
  TLM_TRY(Store store,
          Store::open(options.path, Store::Access::Create, /*examine=*/false));
  TLM_TRY(int64_t added, store.add(set));
  (void)added;
  return success();
}

void RecordLog::add(const std::vector<Trial> &trials) {
  if (!failure)
    return;
  RecordSet set = texts;
  for (const Trial &trial : trials) {
    Record record;
    record.task = taskKey;
    record.target = targetKeyText;
    record.schedule = trial.schedule.text();
    record.maker = options.maker;
    record.measurement = trial.measurement;
    record.measurement.detail = cleanDetail(trial.measurement.detail);
    record.provenance = {options.strategy, options.seed, trial.number,
                         int64_t(std::time(nullptr))};
    know(record.schedule, record.measurement);
    set.records.push_back(std::move(record));
  }
  failure = commit(set);
  if (failure && options.committed)
    options.committed(set.records);
}
