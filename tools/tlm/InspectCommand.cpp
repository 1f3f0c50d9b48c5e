//===- InspectCommand.cpp - tlm inspect -----------------------------------===//

#include "Commands.h"
#include "LoadedModel.h"
#include "Report.h"
#include "import/ModelSummary.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

namespace tlm {
namespace {

bool isArtifact(const std::string &path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::string_view(magic, 4) == "\x7f"
                                       "ELF";
}

Status inspectModel(const std::string &path, const GlobalOptions &global) {
  TLM_TRY(ModelSummary summary, summariseOnnx(path));
  std::printf("%s: %s\n", path.c_str(), summary.text().c_str());
  std::vector<std::pair<std::string, int64_t>> counts(summary.opCounts.begin(),
                                                      summary.opCounts.end());
  std::stable_sort(counts.begin(), counts.end(),
                   [](auto &a, auto &b) { return a.second > b.second; });
  for (auto &[op, count] : counts)
    std::printf("%6lld  %s\n", static_cast<long long>(count), op.c_str());
  if (summary.unsupported.empty())
    std::printf("operators: all supported\n");
  else
    std::printf("operators: not supported:\n%s",
                tableOf(summary.unsupported).c_str());
  nlohmann::json report = newReport("inspect");
  nlohmann::json unsupported = nlohmann::json::array();
  for (const UnsupportedOp &op : summary.unsupported)
    unsupported.push_back({{"op", op.op},
                           {"domain", op.domain},
                           {"opset", op.opset},
                           {"count", op.count},
                           {"first_node", op.firstNode}});
  report["model"] = {{"path", path},
                     {"ir_version", summary.irVersion},
                     {"producer", summary.producer},
                     {"nodes", summary.nodeCount},
                     {"weights", summary.weightCount},
                     {"weight_bytes", summary.weightBytes},
                     {"ops", summary.opCounts},
                     {"unsupported", unsupported}};
  return writeReport(report, global.jsonPath);
}

Status inspectArtifact(const std::string &path, const GlobalOptions &global) {
  TLM_TRY(std::string manifest, LoadedModel::readManifest(path));
  nlohmann::json report = newReport("inspect");
  nlohmann::json parsed = nlohmann::json::parse(manifest, nullptr, false);
  if (parsed.is_discarded())
    return makeError("'" + path + "': the manifest is no JSON");
  report["manifest"] = parsed;
  // What a person wants first; the rest is in the manifest.
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::open(path, {});
  if (model) {
    for (const TensorSpec &spec : (*model)->inputs())
      std::printf("input   %s %s\n", spec.name.c_str(),
                  spec.typeText().c_str());
    for (const TensorSpec &spec : (*model)->outputs())
      std::printf("output  %s %s\n", spec.name.c_str(),
                  spec.typeText().c_str());
    std::printf("steps   %zu, %.3f GFLOP\n", (*model)->steps().size(),
                (*model)->flops() / 1e9);
    if (global.verbosity > 0)
      for (const StepFacts &step : (*model)->steps())
        std::printf("  %-40s %s -> %s\n", step.kernel.c_str(),
                    step.name.c_str(), step.outputName.c_str());
    report["inputs"] = signatureJson((*model)->inputs());
    report["outputs"] = signatureJson((*model)->outputs());
  } else {
    warn(global, model.error().message);
  }
  for (const char *part : {"target", "memory", "weights", "versions"})
    if (parsed.contains(part))
      for (auto &[key, value] : parsed[part].items())
        std::printf("%s.%s %s\n", part, key.c_str(), value.dump().c_str());
  for (const nlohmann::json &kernel :
       parsed.value("kernels", nlohmann::json::array()))
    if (kernel.contains("fallback_reason"))
      std::printf("fallback %s %s: %s\n", kernel.value("label", "").c_str(),
                  kernel.value("key", "").c_str(),
                  kernel.value("fallback_reason", "").c_str());
  if (global.verbosity > 1)
    std::printf("%s\n", parsed.dump(2).c_str());
  return writeReport(report, global.jsonPath);
}

} // namespace

Action addInspect(CLI::App &app, const GlobalOptions &global) {
  auto path = std::make_shared<std::string>();
  app.add_option("model", *path, "model.onnx or model.so")->required();
  return [path, &global] {
    return isArtifact(*path) ? inspectArtifact(*path, global)
                             : inspectModel(*path, global);
  };
}

} // namespace tlm
