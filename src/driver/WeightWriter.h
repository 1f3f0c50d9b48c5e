//===- WeightWriter.h - packs and writes the weights image ------*- C++ -*-===//

#ifndef TLM_DRIVER_WEIGHTWRITER_H
#define TLM_DRIVER_WEIGHTWRITER_H

#include "base/Result.h"
#include "driver/StagedFile.h"
#include "driver/WeightLayout.h"
#include "runtime/Format.h"

#include <cstdint>

namespace tlm {

/// What stands before and behind the data.
TlmWeightsHeader weightsHeader(const WeightLayout &layout, uint64_t hash);

/// Writes the image's data and trailer (runtime/Format.h) into `file`, the
/// image's header being at `imageOffset`, and returns the data's hash. The
/// header itself is the caller's. Every thread holds one packed tensor at a
/// time; source pages that are mapped from a file are given back.
Result<uint64_t> writeWeights(const Graph &graph, const WeightLayout &layout,
                              StagedFile &file, uint64_t imageOffset,
                              int64_t threads);

} // namespace tlm

#endif // TLM_DRIVER_WEIGHTWRITER_H
