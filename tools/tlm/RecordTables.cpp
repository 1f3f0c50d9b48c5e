#include "RecordTables.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <tuple>

namespace tlm {

int64_t RecordGroup::countOk() const {
  return std::count_if(
      records.begin(), records.end(),
      [](const Record &record) { return record.measurement.isOk(); });
}

Result<std::vector<RecordGroup>> groupsOf(const Store &store,
                                          const RecordFilter &filter) {
  TLM_TRY(auto texts, store.taskTexts());
  std::map<std::tuple<std::string, std::string, std::string>, RecordGroup>
      groups;
  std::map<std::string, std::string> labels;
  for (const auto &[key, text] : texts) {
    TLM_TRY(Task task, storedTask(key, text));
    labels[key] = task.label();
  }
  TLM_TRY_STATUS(store.forEach(filter, [&](const Record &record) {
    const std::string &label = labels[record.task];
    RecordGroup &group = groups[{label, record.task, record.target}];
    group.task = record.task;
    group.label = label;
    group.target = record.target;
    group.records.push_back(record);
    return success();
  }));
  std::vector<RecordGroup> list;
  for (auto &[key, group] : groups) {
    std::vector<Record> ours;
    for (const Record &record : group.records)
      if (record.maker.compiler == compilerVersion())
        ours.push_back(record);
    group.ranked = rankCandidates(ours);
    list.push_back(std::move(group));
  }
  return list;
}

std::string timeText(int64_t seconds) {
  time_t time = time_t(seconds);
  tm parts{};
  gmtime_r(&time, &parts);
  char text[40];
  size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return std::string(text, length);
}

std::string recordText(const Record &record) {
  const Measurement &m = record.measurement;
  const Provenance &p = record.provenance;
  char numbers[160];
  std::snprintf(numbers, sizeof numbers,
                " %-12s min %10.2f us  median %10.2f us  samples %4d  rounds "
                "%2d  slowdown %.2f%s",
                std::string(nameOf(m.outcome)).c_str(), m.minMicroseconds,
                m.medianMicroseconds, int(m.samples), int(m.rounds), m.slowdown,
                record.isDrifted() ? " (not quiet)" : "");
  std::string text = record.id() + numbers + "  " + p.strategy + " seed " +
                     std::to_string(p.seed) + " trial " +
                     std::to_string(p.trial) + "  " + timeText(p.time) +
                     "  compiler " + record.maker.compiler + " (" +
                     record.maker.build + ")";
  return m.detail.empty() ? text : text + "  " + m.detail;
}

nlohmann::json recordJson(const Record &record) {
  const Measurement &m = record.measurement;
  const Provenance &p = record.provenance;
  return {{"id", record.id()},
          {"task", record.task},
          {"target", record.target},
          {"schedule", record.schedule},
          {"outcome", nameOf(m.outcome)},
          {"detail", m.detail},
          {"min_us", m.minMicroseconds},
          {"median_us", m.medianMicroseconds},
          {"samples", m.samples},
          {"rounds", m.rounds},
          {"slowdown", m.slowdown},
          {"strategy", p.strategy},
          {"seed", p.seed},
          {"trial", p.trial},
          {"time", p.time},
          {"compiler", record.maker.compiler},
          {"build", record.maker.build}};
}

} // namespace tlm
