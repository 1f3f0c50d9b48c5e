//===- RecordTables.h - records as people read them -------------*- C++ -*-===//

#ifndef TLM_TOOLS_RECORDTABLES_H
#define TLM_TOOLS_RECORDTABLES_H

#include "records/Ranking.h"
#include "records/Store.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tlm {

/// The records of a task on a target.
struct RecordGroup {
  std::string task, label, target;
  std::vector<Record> records;         ///< the oldest first
  std::vector<RankedCandidate> ranked; ///< of this version of the compiler

  int64_t countOk() const;
};

/// Sorted by label, task and target.
Result<std::vector<RecordGroup>> groupsOf(const Store &store,
                                          const RecordFilter &filter);

/// "2026-10-09 08:53:20", UTC.
std::string timeText(int64_t seconds);
/// One line.
std::string recordText(const Record &record);
nlohmann::json recordJson(const Record &record);

} // namespace tlm

#endif // TLM_TOOLS_RECORDTABLES_H
