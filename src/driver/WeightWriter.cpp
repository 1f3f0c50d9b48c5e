//===- WeightWriter.cpp ---------------------------------------------------===//

#include "driver/WeightWriter.h"

#include "runtime/Format.h"
#include "runtime/Hash.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

namespace tlm {

namespace {

/// Runs body(i) for i in [0, count) on `threads` threads; the first error.
Status forEach(size_t count, int64_t threads,
               const std::function<Status(size_t)> &body) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<Error> first;
  auto loop = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      Status status = body(i);
      if (status.ok())
        continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (!first)
        first = status.error();
      next.store(count);
    }
  };
  std::vector<std::thread> workers;
  for (int64_t i = 1; i < threads && size_t(i) < count; ++i)
    workers.emplace_back(loop);
  loop();
  for (std::thread &worker : workers)
    worker.join();
  if (first)
    return *first;
  return success();
}

/// Address ranges that are mapped read-only and privately from files: their
/// pages can be dropped and come back from the file.
class FileMappings {
public:
  FileMappings() {
    FILE *maps = std::fopen("/proc/self/maps", "re");
    if (!maps)
      return;
    char line[8192];
    while (std::fgets(line, sizeof(line), maps)) {
      uintptr_t begin, end;
      unsigned long inode;
      char mode[5];
      if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &begin,
                      &end, mode, &inode) == 4 &&
          inode != 0 && !std::strcmp(mode, "r--p"))
        ranges.emplace_back(begin, end);
    }
    std::fclose(maps);
  }

  void drop(const void *data, size_t size) const {
    constexpr uintptr_t page = 4096;
    uintptr_t begin = (uintptr_t(data) + page - 1) / page * page;
    uintptr_t end = (uintptr_t(data) + size) / page * page;
    for (auto [low, high] : ranges)
      if (begin < end && low <= begin && end <= high)
        // Advice: pages that stay cost memory only.
        (void)madvise(reinterpret_cast<void *>(begin), end - begin,
                      MADV_DONTNEED);
  }

private:
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
};

Status writeEntry(const Value &value, const WeightEntry &entry,
                  StagedFile &file, uint64_t dataOffset) {
  uint64_t offset = dataOffset + uint64_t(entry.offset);
  if (!entry.packing)
    return file.write(offset, value.constant.data, value.constant.sizeBytes);
  size_t bytes = size_t(entry.bytes);
  std::unique_ptr<float[]> packed(new float[bytes / sizeof(float)]);
  if (uintptr_t(value.constant.data) % alignof(float) == 0) {
    pack(*entry.packing, value.constant.as<float>(), packed.get());
  } else { // raw_data of an ONNX file lies anywhere
    std::vector<float> aligned(value.constant.sizeBytes / sizeof(float));
    std::memcpy(aligned.data(), value.constant.data,
                aligned.size() * sizeof(float));
    pack(*entry.packing, aligned.data(), packed.get());
  }
  return file.write(offset, packed.get(), bytes);
}

Result<uint64_t> hashData(const StagedFile &file, uint64_t dataOffset,
                          uint64_t bytes, int64_t threads) {
  size_t blocks = (bytes + TLM_HASH_BLOCK_BYTES - 1) / TLM_HASH_BLOCK_BYTES;
  std::vector<uint64_t> hashes(blocks);
  TLM_TRY_STATUS(forEach(blocks, threads, [&](size_t i) -> Status {
    uint64_t begin = uint64_t(i) * TLM_HASH_BLOCK_BYTES;
    std::vector<char> block(
        std::min<uint64_t>(TLM_HASH_BLOCK_BYTES, bytes - begin));
    TLM_TRY_STATUS(file.read(dataOffset + begin, block.data(), block.size()));
    hashes[i] = tlmHash(0, block.data(), block.size());
    return success();
  }));
  uint64_t hash = 0;
  for (uint64_t block : hashes)
    hash = tlmHashWord(hash, block);
  return hash;
}

} // namespace

TlmWeightsHeader weightsHeader(const WeightLayout &layout, uint64_t hash) {
  TlmWeightsHeader header = {};
  std::memcpy(header.magic, TLM_WEIGHTS_MAGIC, sizeof(header.magic));
  header.version = TLM_FORMAT_VERSION;
  header.dataBytes = uint64_t(layout.totalBytes);
  header.hash = hash;
  std::memcpy(header.end, TLM_WEIGHTS_END, sizeof(header.end));
  return header;
}

Result<uint64_t> writeWeights(const Graph &graph, const WeightLayout &layout,
                              StagedFile &file, uint64_t imageOffset,
                              int64_t threads) {
  uint64_t dataOffset = imageOffset + TLM_WEIGHTS_DATA_OFFSET;
  uint64_t bytes = uint64_t(layout.totalBytes);
  TlmWeightsHeader trailer = weightsHeader(layout, 0);
  uint64_t trailerOffset = imageOffset + tlmWeightsTrailerOffset(bytes);
  // First, so that the file has its length and gaps read as zero.
  TLM_TRY_STATUS(file.write(trailerOffset, &trailer, sizeof(trailer)));

  FileMappings mappings;
  TLM_TRY_STATUS(
      forEach(layout.entries.size(), threads, [&](size_t i) -> Status {
        const WeightEntry &entry = layout.entries[i];
        const Value &value = graph.value(entry.value);
        Status status = writeEntry(value, entry, file, dataOffset);
        mappings.drop(value.constant.data, value.constant.sizeBytes);
        return status;
      }));
  TLM_TRY(trailer.hash, hashData(file, dataOffset, bytes, threads));
  TLM_TRY_STATUS(file.write(trailerOffset, &trailer, sizeof(trailer)));
  return trailer.hash;
}

} // namespace tlm
