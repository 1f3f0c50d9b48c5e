#include "TuneRecords.h"

#include "Version.h"
#include "records/Ranking.h"
#include "records/Store.h"
#include "records/TargetKey.h"

#include <algorithm>
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

Result<std::vector<KnownSchedule>>
knownSchedules(const RecordLogOptions &options) {
  constexpr size_t kPerTask = 3;
  TLM_TRY(Store store,
          Store::open(options.path, Store::Access::Read, /*examine=*/false));
  TLM_TRY(auto texts, store.taskTexts());
  std::vector<KnownSchedule> known;
  for (const auto &[key, text] : texts) {
    TLM_TRY(Task task, storedTask(key, text));
    TLM_TRY(std::vector<Record> records,
            store.find(key, targetKey(options.target)));
    std::erase_if(records, [&](const Record &record) {
      return record.maker.compiler != options.maker.compiler;
    });
    std::vector<RankedCandidate> ranked = rankCandidates(records);
    for (size_t i = 0; i < std::min(ranked.size(), kPerTask); ++i) {
      TLM_TRY(Schedule schedule, parseSchedule(ranked[i].schedule));
      known.push_back({task, std::move(schedule), ranked[i].microseconds});
    }
  }
  return known;
}

} // namespace tlm
