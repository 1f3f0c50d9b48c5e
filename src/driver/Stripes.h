//===- Stripes.h - chains run stripe by stripe ------------------*- C++ -*-===//
//
// An image larger than L2 comes back from memory when the next kernel reads it.
// The steps of a chain (Plan.h) therefore run interleaved: as soon as a step
// has written the rows that a part of the next one reads, that part runs. The
// kernels stay as they are; their chunks only run in another order, so results
// have the same bits.
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

/// Every chunk of every step once, in an order that any number of workers may
/// follow with a barrier between parts. A part has work for `threads` workers
/// where its kernel has.
std::vector<StepPart> stepParts(const Plan &plan,
                                const std::vector<Kernel> &kernels,
                                int64_t threads);

} // namespace tlm

#endif // TLM_DRIVER_STRIPES_H
