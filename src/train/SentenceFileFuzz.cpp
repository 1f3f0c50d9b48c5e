// libFuzzer: whatever the bytes are, the reader returns. The hash in the header
// is made right first, so that the groups are reached.

#include "model/SafeTensors.h"
#include "train/SentenceFile.h"

#include <cstring>

using namespace tlm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (bytes.size() >= 64) {
    std::span<const std::byte> groups =
        std::as_bytes(std::span(bytes)).subspan(64);
    uint64_t numbers[] = {groups.size(), hashOfData({&groups, 1})};
    std::memcpy(bytes.data() + 48, numbers, sizeof(numbers));
  }
  Result<SentenceFile> file =
      SentenceFile::parse(std::as_bytes(std::span(bytes)), nullptr, "fuzz");
  for (int64_t i = 0; file && i < file->size(); ++i)
    TLM_CHECK(!file->group(i).branches.empty()) << i;
  return 0;
}
