//===- Artifact.h - writes model.so -----------------------------*- C++ -*-===//
//
// Links the kernels' objects, the plan and the embedded runtime into a shared
// object, then streams the packed weights behind it as its last, read-only,
// page-aligned segment (or, above a limit, into a side file that the artifact
// finds beside itself and checks by hash). Weights never pass through an
// object file or a linker.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_ARTIFACT_H
#define TLM_DRIVER_ARTIFACT_H

#include "base/Result.h"
#include "graph/Graph.h"
#include "lower/Kernel.h"
#include "partition/Plan.h"
#include "target/Target.h"

#include <string>
#include <vector>

namespace tlm {

struct ArtifactInput {
  const Graph *graph = nullptr;
  const Plan *plan = nullptr;
  /// Per task of the plan.
  const std::vector<Kernel> *kernels = nullptr;
  const std::vector<Schedule> *schedules = nullptr;
  /// Why the first schedule of a task was given up for the plain one, or empty.
  const std::vector<std::string> *fallbackReasons = nullptr;
  Target target;
  /// C identifier derived from the output's file name; names <name>_api.
  std::string name;
  /// Weights above this go to `<output>.weights`.
  int64_t sideFileLimitBytes = int64_t(1) << 30;
  /// Threads that pack weights.
  int64_t threads = 1;
};

struct ArtifactSummary {
  int64_t fileBytes = 0;
  int64_t weightBytes = 0;
  std::string sideFile; ///< empty when the weights are inside
};

/// Writes `path` (temporary file and rename; nothing half-written).
/// Deterministic: equal inputs give equal bytes.
Result<ArtifactSummary> writeArtifact(const ArtifactInput &input,
                                      const std::string &path);

/// The C header for that artifact: names, shapes, <name>_api.
std::string headerText(const ArtifactInput &input);

/// A C identifier from a path: "out/resnet-50.so" -> "resnet_50".
std::string artifactName(const std::string &path);

} // namespace tlm

#endif // TLM_DRIVER_ARTIFACT_H
