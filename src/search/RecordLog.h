//===- RecordLog.h - a search that writes records ---------------*- C++ -*-===//

#ifndef TLM_SEARCH_RECORDLOG_H
#define TLM_SEARCH_RECORDLOG_H

#include "records/Record.h"
#include "search/TrialLog.h"
#include "target/Target.h"
#include "task/Task.h"

#include <functional>
#include <map>

namespace tlm {

/// Where the records of a run go, and what they say of it.
struct RecordLogOptions {
  std::string path; ///< a store; made if there is none
  Target target;
  Maker maker;
  std::string strategy;
  uint64_t seed = 1;
  /// Told of records once they are in the store.
  std::function<void(const std::vector<Record> &)> committed;
};

/// The store is open only while trials are added: candidates run in forks of
/// this process (Store.h), and the one that is forked then waits. It knows what
/// this target and this version of the compiler have measured, whoever proposed
/// it.
class RecordLog final : public TrialLog {
public:
  static Result<RecordLog> open(const RecordLogOptions &options,
                                const Task &task);

  std::optional<Measurement> find(const Schedule &schedule,
                                  int32_t rounds) override;
  void add(const std::vector<Trial> &trials) override;

  /// The first failure to add; nothing is added after it.
  const Status &status() const { return failure; }

private:
  RecordLog(const RecordLogOptions &options, const Task &task);
  Status commit(const RecordSet &set);
  void know(const std::string &schedule, const Measurement &measurement) {
    known[schedule].push_back(measurement);
  }

  RecordLogOptions options;
  RecordSet texts; ///< of the task and the target
  std::string taskKey, targetKeyText;
  std::map<std::string, std::vector<Measurement>> known; ///< the oldest first
  Status failure = success();
};

} // namespace tlm

#endif // TLM_SEARCH_RECORDLOG_H
