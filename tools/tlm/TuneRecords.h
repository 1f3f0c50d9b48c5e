//===- TuneRecords.h - the store of a command that measures -----*- C++ -*-===//

#ifndef TLM_TOOLS_TUNERECORDS_H
#define TLM_TOOLS_TUNERECORDS_H

#include "Commands.h"
#include "search/RecordLog.h"
#include "search/Strategy.h"

#include <string>

namespace tlm {

/// Opens the store once, which examines it, or makes it. With -vv a line on
/// stdout says the identity of every record that is safely in it. An empty path
/// is no store.
Result<RecordLogOptions> recordLogOptions(const std::string &path,
                                          const Target &target,
                                          const std::string &strategy,
                                          uint64_t seed,
                                          const GlobalOptions &global);

/// The fastest recorded schedules of every task on the target, three a task,
/// by this version of the compiler.
Result<std::vector<KnownSchedule>>
knownSchedules(const RecordLogOptions &options);

} // namespace tlm

#endif // TLM_TOOLS_TUNERECORDS_H
