//===- Callers.h - parallel callers of one model ----------------*- C++ -*-===//

#ifndef TLM_TOOLS_CALLERS_H
#define TLM_TOOLS_CALLERS_H

#include "LoadedModel.h"

#include <chrono>
#include <vector>

namespace tlm {

/// Runs go on until both are reached, all callers together.
struct StopRule {
  int64_t iterations = 0;
  double seconds = 0;
};

struct Samples {
  std::vector<double> ms; ///< latency of each run, caller by caller
  double seconds = 0;     ///< from the first run's start to the last one's end
};

/// Calls a model from several threads, each with a context and outputs of its
/// own.
class Callers {
public:
  static Result<Callers>
  make(LoadedModel &model, const std::vector<HostTensor> &inputs, size_t count);

  size_t count() const { return outputs.size(); }
  Result<Samples> run(const StopRule &rule);

  /// A run of every caller at the same time, `times` in a row. `hooks` has one
  /// a caller; `ended` is called by a caller after each of its runs.
  Status runTogether(int times, const std::vector<StepHook> &hooks,
                     const std::function<void(size_t caller)> &ended);

private:
  Callers(LoadedModel &model, const std::vector<HostTensor> &inputs,
          size_t count)
      : model(&model), inputs(&inputs), outputs(count) {}

  /// Calls `body(caller)` on a thread each; the first error, if there is one.
  Status inParallel(const std::function<Status(size_t caller)> &body) const;

  LoadedModel *model;
  const std::vector<HostTensor> *inputs;
  std::vector<std::vector<HostTensor>> outputs; ///< per caller
};

} // namespace tlm

#endif // TLM_TOOLS_CALLERS_H
