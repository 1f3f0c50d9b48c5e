// libFuzzer: any bytes as a shard and as its text. What is taken is written
// again and read back, and says the same.

#include "records/RecordLines.h"
#include "records/Shards.h"

using namespace tlm;

extern "C" int LLVMFuzzerTestOneInput(const char *data, size_t size) {
  std::string_view bytes(data, size);
  (void)decompressed(bytes, "fuzz");
  RecordSet set;
  if (!readRecordLines(bytes, "fuzz", set))
    return 0;
  std::string text = headerLine();
  for (const auto &[key, task] : set.tasks)
    text += taskLine(key, task);
  for (const auto &[key, target] : set.targets)
    text += targetLine(key, target);
  for (const Record &record : set.records)
    text += recordLine(record);
  RecordSet again;
  TLM_CHECK(readRecordLines(text, "fuzz", again));
  TLM_CHECK(again.records.size() == set.records.size());
  return 0;
}
