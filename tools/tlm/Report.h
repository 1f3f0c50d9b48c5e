//===- Report.h - what --json writes ----------------------------*- C++ -*-===//

#ifndef TLM_TOOLS_REPORT_H
#define TLM_TOOLS_REPORT_H

#include "HostTensor.h"
#include "InputSpec.h"
#include "base/Result.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tlm {

/// {tool, version, command, host{cpu, target, cores, governor}}: the start of
/// every report.
nlohmann::json newReport(const std::string &command);

/// Writes atomically; nothing when `path` is empty.
Status writeReport(const nlohmann::json &report, const std::string &path);

nlohmann::json signatureJson(const std::vector<TensorSpec> &signature);

/// {name, type, min, max, mean, nan}.
nlohmann::json tensorJson(const HostTensor &tensor);

/// The CPU frequency governor, or "".
std::string frequencyGovernor();

/// Prints up to `limit` elements (all when negative): "y f32[1,3] 1 2 3".
std::string tensorText(const HostTensor &tensor, int64_t limit);

} // namespace tlm

#endif // TLM_TOOLS_REPORT_H
