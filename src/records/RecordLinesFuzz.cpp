// libFuzzer: any bytes as a shard and as its text. What is taken is written
// again and read back, and says the same.

#include "base/Damaged.h"
#include "records/RecordLines.h"
#include "records/RecordTestData.h"
#include "records/Shards.h"

using namespace tlm;

static std::string textOf(const RecordSet &set) {
  std::string text = headerLine();
  for (const auto &[key, task] : set.tasks)
    text += taskLine(key, task);
  for (const auto &[key, target] : set.targets)
    text += targetLine(key, target);
  for (const Record &record : set.records)
    text += recordLine(record);
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  static const std::string sound = textOf(testSet(1, 5));
  std::string bytes =
      data[0] % 2
          ? damaged(sound, data + 1, size - 1)
          : std::string(reinterpret_cast<const char *>(data) + 1, size - 1);
  (void)decompressed(bytes, "fuzz");
  RecordSet set;
  if (!readRecordLines(bytes, "fuzz", set))
    return 0;
  RecordSet again;
  TLM_CHECK(readRecordLines(textOf(set), "fuzz", again));
  TLM_CHECK(again.records.size() == set.records.size());
  return 0;
}
