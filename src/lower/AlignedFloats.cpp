#include "lower/AlignedFloats.h"

#include "base/Check.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace tlm;

AlignedFloats::AlignedFloats(int64_t count, float fill) : count(count) {
  size_t bytes = (size_t(std::max<int64_t>(count, 1)) * 4 + 4095) / 4096 * 4096;
  memory.reset(static_cast<float *>(std::aligned_alloc(4096, bytes)));
  std::fill_n(memory.get(), bytes / 4, fill);
}

std::optional<AlignedFloats> AlignedFloats::repeating(int64_t count,
                                                      int64_t period) {
  TLM_CHECK(count > 0 && period > 0 && period % 1024 == 0) << period;
  size_t periodBytes = size_t(period) * 4;
  size_t bytes =
      (size_t(count) * 4 + periodBytes - 1) / periodBytes * periodBytes;
  void *all =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED)
    return std::nullopt;
  AlignedFloats result;
  result.memory = {static_cast<float *>(all), Free{bytes}};
  result.count = count;
  int file = memfd_create("tlm-operand", MFD_CLOEXEC);
  bool ok = file >= 0 && ftruncate(file, off_t(periodBytes)) == 0;
  for (size_t at = 0; ok && at < bytes; at += periodBytes)
    ok =
        mmap(static_cast<char *>(all) + at, periodBytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  if (file >= 0)
    close(file);
  if (!ok)
    return std::nullopt;
  return result;
}

void AlignedFloats::Free::operator()(float *p) const {
  if (mappedBytes)
    munmap(p, mappedBytes);
  else
    std::free(p);
}
