//===- WeightLayout.h - where each constant lies in the image ---*- C++ -*-===//

#ifndef TLM_DRIVER_WEIGHTLAYOUT_H
#define TLM_DRIVER_WEIGHTLAYOUT_H

#include "graph/Graph.h"
#include "lower/Kernel.h"
#include "partition/Plan.h"

#include <cstdint>
#include <vector>

namespace tlm {

/// A tensor in one packing.
struct WeightEntry {
  ValueId value = kNoValue;
  const Packing *packing = nullptr; ///< nullptr: the bytes as they are
  int64_t offset = 0;               ///< in the image's data, 64-aligned
  int64_t bytes = 0;
};

struct WeightLayout {
  /// In the order of first use by the steps.
  std::vector<WeightEntry> entries;
  int64_t totalBytes = 0;
  /// Per step and operand: index into entries, or -1 when not constant.
  std::vector<std::vector<int32_t>> operandEntries;
  /// Per output of the signature: entry of a constant handed through, or -1.
  std::vector<int32_t> outputEntries;
};

/// The buffer whose memory `buffer` has: follows aliasOf.
int32_t rootBuffer(const Plan &plan, int32_t buffer);

/// One entry per value and packing, whoever asks for it.
WeightLayout layoutWeights(const Graph &graph, const Plan &plan,
                           const std::vector<Kernel> &kernels);

} // namespace tlm

#endif // TLM_DRIVER_WEIGHTLAYOUT_H
