//===- Transpose.h - matrices turned in registers ---------------*- C++ -*-===//

#ifndef TLM_LOWER_TRANSPOSE_H
#define TLM_LOWER_TRANSPOSE_H

#include "lower/LoopNest.h"

#include <string>
#include <vector>

namespace tlm {

/// `rows` are as many vectors as one has lanes, a power of two; returns those
/// of the transposed matrix.
std::vector<std::string> transposeLanes(LoopNest &nest,
                                        std::vector<std::string> rows);

/// target[targetAt + b * targetStride + a] is
/// source[sourceAt + a * sourceStride + b], for a and b from their low to their
/// high bounds, which are index values like both starts.
struct TransposedCopy {
  LoopNest::Array source, target;
  std::string sourceAt, targetAt;
  int64_t sourceStride = 1, targetStride = 1;
  std::string lowA, highA, lowB, highB;
  int64_t lanes = 1;
};

/// Blocks of lanes x lanes in registers, what is left element by element.
void transposeMatrix(LoopNest &nest, const TransposedCopy &copy);

} // namespace tlm

#endif // TLM_LOWER_TRANSPOSE_H
