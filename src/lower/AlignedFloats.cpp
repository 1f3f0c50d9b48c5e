#include "lower/AlignedFloats.h"

#include <algorithm>
#include <cstdlib>

using namespace tlm;

AlignedFloats::AlignedFloats(int64_t count, float fill) : count(count) {
  size_t bytes = (size_t(std::max<int64_t>(count, 1)) * 4 + 4095) / 4096 * 4096;
  memory.reset(static_cast<float *>(std::aligned_alloc(4096, bytes)));
  std::fill_n(memory.get(), bytes / 4, fill);
}

void AlignedFloats::Free::operator()(float *p) const { std::free(p); }
