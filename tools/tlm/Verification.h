//===- Verification.h - an artifact against the reference -------*- C++ -*-===//

#ifndef TLM_TOOLS_VERIFICATION_H
#define TLM_TOOLS_VERIFICATION_H

#include "LoadedModel.h"
#include "TensorCompare.h"
#include "graph/Graph.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tlm {

struct VerifiedTensor {
  std::string step, kernel, value; ///< step and kernel empty: a final output
  Comparison comparison;
};

struct Verification {
  std::vector<VerifiedTensor> tensors; ///< steps in order, then the outputs
  /// Steps whose value the imported graph does not have under that name.
  std::vector<std::string> uncompared;

  /// First tensor that differs, or nullptr.
  const VerifiedTensor *firstBad() const;
  /// "67 steps and 1 output compared, max abs err 3.1e-06 ...".
  std::string text() const;
  nlohmann::json json() const;
};

/// Interprets `graph` (as imported, before any pass of ours) on `inputs` and
/// compares every step of the artifact and its outputs, by value name.
/// `steps` are what runKeepingSteps returned.
Result<Verification> compareWithReference(
    const Graph &graph, const LoadedModel &model,
    const std::vector<HostTensor> &inputs, const std::vector<HostTensor> &steps,
    const std::vector<HostTensor> &outputs, const Tolerance &tolerance);

} // namespace tlm

#endif // TLM_TOOLS_VERIFICATION_H
