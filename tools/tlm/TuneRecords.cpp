#include "TuneRecords.h"

#include "Version.h"
#include "records/Store.h"

#include <cstdio>

namespace tlm {

Result<RecordLogOptions> recordLogOptions(const std::string &path,
                                          const Target &target,
                                          const std::string &strategy,
                                          uint64_t seed,
                                          const GlobalOptions &global) {
  RecordLogOptions options;
  options.path = path;
  options.target = target;
  options.maker = {0, std::string(compilerVersion()), kCommit};
  options.strategy = strategy;
  options.seed = seed;
  if (path.empty())
    return options;
  TLM_TRY(Store store, Store::open(path, Store::Access::Create));
  if (global.verbosity > 1)
    options.committed = [](const std::vector<Record> &records) {
      for (const Record &record : records)
        std::printf("recorded %s %s\n", record.id().c_str(),
                    std::string(nameOf(record.measurement.outcome)).c_str());
      std::fflush(stdout);
    };
  return options;
}

} // namespace tlm
