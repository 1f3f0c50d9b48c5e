//===- TuneReport.h - what tlm tune prints and writes -----------*- C++ -*-===//

#ifndef TLM_TOOLS_TUNEREPORT_H
#define TLM_TOOLS_TUNEREPORT_H

#include "NetworkTasks.h"
#include "search/TaskTuner.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tlm {

void printTuneHeader();
/// A line of the table: what has become of task `number`.
void printTuneRow(size_t number, const NetworkTask &entry,
                  const TuneResult &result);

/// Sums over the calls of each path, printed and as JSON. Tasks without a
/// result are left out, and counted.
nlohmann::json printTuneTotals(const std::vector<std::string> &paths,
                               const std::vector<NetworkTask> &tasks,
                               const std::vector<TuneResult> &results);

nlohmann::json tuneJson(const NetworkTask &entry, const TuneResult &result);

/// The fastest schedules, for --schedule-from.
std::string scheduleFileText(const std::vector<NetworkTask> &tasks,
                             const std::vector<TuneResult> &results);

} // namespace tlm

#endif // TLM_TOOLS_TUNEREPORT_H
