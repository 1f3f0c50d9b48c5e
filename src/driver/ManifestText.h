//===- ManifestText.h - what an artifact says about itself ------*- C++ -*-===//

#ifndef TLM_DRIVER_MANIFESTTEXT_H
#define TLM_DRIVER_MANIFESTTEXT_H

#include "driver/Artifact.h"
#include "driver/WeightLayout.h"

#include <string>

namespace tlm {

/// JSON: versions, target, signature, memory, kernels with their schedules, and
/// the steps. Keys are sorted; nothing in it depends on the machine or time.
std::string manifestText(const ArtifactInput &input, const WeightLayout &layout,
                         const std::string &sideFile);

} // namespace tlm

#endif // TLM_DRIVER_MANIFESTTEXT_H
