//===- LoadedModel.h - an artifact through its C ABI ------------*- C++ -*-===//

#ifndef TLM_TOOLS_LOADEDMODEL_H
#define TLM_TOOLS_LOADEDMODEL_H

#include "HostTensor.h"
#include "InputSpec.h"
#include "base/Result.h"
#include "tlm/tlm.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tlm {

struct LoadOptions {
  int32_t threads = 0;      ///< 0 = the artifact decides
  bool poisonArena = false; ///< a test of the borders
};

struct StepFacts {
  std::string name, kernel, taskKey, outputName;
  double flops = 0, bytes = 0;
};

/// Called after each step with its times on the monotonic clock.
using StepHook = std::function<void(tlm_context *context, int32_t step,
                                    int64_t beginNs, int64_t endNs)>;

/// A loaded artifact with one context, or as many as callers are added. Closes
/// and unloads on destruction.
class LoadedModel {
public:
  /// An artifact for another machine is an error of code Machine.
  static Result<std::unique_ptr<LoadedModel>> open(const std::string &path,
                                                   const LoadOptions &options);
  /// The manifest of an artifact, which needs no fitting machine.
  static Result<std::string> readManifest(const std::string &path);

  LoadedModel(const LoadedModel &) = delete;
  LoadedModel &operator=(const LoadedModel &) = delete;
  ~LoadedModel();

  const std::vector<TensorSpec> &inputs() const { return inputSpecs; }
  const std::vector<TensorSpec> &outputs() const { return outputSpecs; }
  const std::vector<StepFacts> &steps() const { return stepFacts; }
  std::string manifest() const;

  /// Makes contexts until `count` callers can run at the same time.
  Status reserveCallers(size_t count);

  /// Runs once into `outputs`, which are made on the first call and reused.
  /// Different callers may run at the same time.
  Status run(const std::vector<HostTensor> &inputs,
             std::vector<HostTensor> &outputs, const StepHook &hook = {},
             size_t caller = 0);

  /// The output of `step`, dense in ONNX order; inside a StepHook only.
  Result<HostTensor> stepOutput(tlm_context *context, int32_t step) const;

  double flops() const;

private:
  LoadedModel() = default;
  Status checked(tlm_status status) const;
  Status readSignature();

  void *library = nullptr;
  const tlm_api *api = nullptr;
  tlm_model *model = nullptr;
  std::vector<tlm_context *> contexts; ///< one a caller
  std::string path;
  std::vector<TensorSpec> inputSpecs, outputSpecs;
  std::vector<StepFacts> stepFacts;
};

/// Runs step by step and returns every step's output under its ONNX value name,
/// in the order of the steps; then runs as usual, where steps may take turns
/// (driver/Stripes.h). An error when that gives other outputs.
Result<std::vector<HostTensor>>
runKeepingSteps(LoadedModel &model, const std::vector<HostTensor> &inputs,
                std::vector<HostTensor> &outputs);

} // namespace tlm

#endif // TLM_TOOLS_LOADEDMODEL_H
