//===- Lifetimes.h - when each buffer holds something -----------*- C++ -*-===//

#ifndef TLM_PARTITION_LIFETIMES_H
#define TLM_PARTITION_LIFETIMES_H

#include "partition/Plan.h"

namespace tlm {

/// Steps [first, last], both included: an output never shares memory with an
/// input of its step.
struct Lifetime {
  int32_t first = 0, last = -1;

  bool empty() const { return last < first; }
  bool overlaps(const Lifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// The buffer whose memory `index` is.
inline int32_t rootOf(const Plan &plan, int32_t index) {
  int32_t root = plan.buffers[size_t(index)].aliasOf;
  return root < 0 ? index : root;
}

/// Per buffer; views count for their root and are empty themselves.
std::vector<Lifetime> lifetimesOf(const Plan &plan);

} // namespace tlm

#endif // TLM_PARTITION_LIFETIMES_H
