//===- PlanBlob.h - the plan in the runtime's binary form -------*- C++ -*-===//

#ifndef TLM_DRIVER_PLANBLOB_H
#define TLM_DRIVER_PLANBLOB_H

#include "driver/Artifact.h"
#include "driver/WeightLayout.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

struct PlanBlob {
  /// See runtime/Format.h. Without hashes until sealed.
  std::string bytes;
  /// What the runtime's stage table points to, in order.
  std::vector<std::string> stageSymbols;
};

/// `sideFile`: file name of the weights, empty when they are inside.
PlanBlob buildPlanBlob(const ArtifactInput &input, const WeightLayout &layout,
                       const std::string &sideFile);

/// Sets the weights' hash and then the blob's own, in place.
void sealPlanBlob(char *blob, size_t size, uint64_t weightsHash);

} // namespace tlm

#endif // TLM_DRIVER_PLANBLOB_H
