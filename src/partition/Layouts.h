//===- Layouts.h - where each value is written ------------------*- C++ -*-===//
//
// A value's home is the buffer its producer writes.
//   - Images are Nhwc from the first convolution on, and so is what is computed
//     for one. User tensors, matrices,
//     constants and what is computed from Plain images point by point are
//     Plain.
//   - A graph output whose home is Plain is written where the user wants it;
//     every other output gets a Copy.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_PARTITION_LAYOUTS_H
#define TLM_PARTITION_LAYOUTS_H

#include "partition/Fusion.h"

namespace tlm {

struct Layouts {
  std::vector<Layout> home; ///< per value
  /// Per value: the position of the graph output that is its home, or -1. The
  /// output may be a view of the value.
  std::vector<int32_t> homeOutput;
  /// Per graph output: whether some value's home is there.
  std::vector<bool> isHome;
};

Layouts chooseLayouts(const Graph &graph, const std::vector<Group> &groups);

} // namespace tlm

#endif // TLM_PARTITION_LAYOUTS_H
