//===- PanelPacking.h - panels of a matrix known at run time ----*- C++ -*-===//
//
// The right operand of a product is read panel by panel: for every step d along
// the depth, `vectors` vectors of neighbouring columns. Constants are packed
// when the artifact is written (space/Packing.h); this emits the loops that
// pack what is computed at run time.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_PANELPACKING_H
#define TLM_LOWER_PANELPACKING_H

#include "lower/LoopNest.h"

#include <cstdint>
#include <string>

namespace tlm {

/// One panel: target[targetAt + d * vectors * lanes + c] is
/// source[sourceAt + d * depthStride + c * columnStride], for d < depth and
/// c < vectors * lanes; zero for c >= columns.
struct PanelCopy {
  LoopNest::Array source, target;
  std::string sourceAt = {}, targetAt = {}; ///< index values
  int64_t depthStride = 1, columnStride = 1;
  int64_t depth = 1, columns = 1, vectors = 1, lanes = 1;
};

/// Rows are copied where columns are contiguous; where the depth is, blocks of
/// lanes x lanes are transposed in registers. One of the two must be.
void packPanel(LoopNest &nest, const PanelCopy &panel);

} // namespace tlm

#endif // TLM_LOWER_PANELPACKING_H
