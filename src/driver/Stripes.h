//===- Stripes.h - chains of steps whose chunks interleave ------*- C++ -*-===//
//
// An image larger than L2 comes back from memory when the next kernel reads it.
// The steps of a chain (Plan.h) therefore run interleaved: as soon as a step
// has written the rows that a block of the next one reads, that block runs. The
// kernels stay as they are; their chunks only run in another order, so results
// have the same bits.
//
// With several workers each owns a share of the rows of every image, or of its
// channels. What reads across the border of two shares, and all that it depends
// on, runs first, step by step with barriers between; the rest of the shares do
// not depend on each other. Where nothing reads across, a chain has no barrier.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_STRIPES_H
#define TLM_DRIVER_STRIPES_H

#include "lower/Kernel.h"
#include "partition/Plan.h"

#include <vector>

namespace tlm {

/// Chunks [firstChunk, firstChunk + chunks) of a step's only stage, or all
/// stages where `chunks` is 0.
struct StepPart {
  int32_t step = 0;
  int64_t firstChunk = 0, chunks = 0;
  bool operator==(const StepPart &) const = default;
};

/// One part, whose chunks all workers share; or lists of parts, of which a
/// worker takes one as a whole. A barrier follows.
struct StepPhase {
  std::vector<std::vector<StepPart>> lists;
  bool shared = false; ///< one list of one part
  bool operator==(const StepPhase &) const = default;
};

/// The chains that pay with these kernels: over images of at least
/// `stripedBytes`, and runs of steps whose shares do not meet.
std::vector<PlanChain> chooseChains(const Plan &plan,
                                    const std::vector<Kernel> &kernels,
                                    int64_t threads, int64_t stripedBytes);

/// Every chunk of every step once; the steps of the plan's chains interleaved.
std::vector<StepPhase>
phasesOf(const Plan &plan, const std::vector<Kernel> &kernels, int64_t threads);

} // namespace tlm

#endif // TLM_DRIVER_STRIPES_H
