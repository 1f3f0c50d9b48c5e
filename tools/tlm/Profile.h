//===- Profile.h - where the time goes, kernel by kernel --------*- C++ -*-===//

#ifndef TLM_TOOLS_PROFILE_H
#define TLM_TOOLS_PROFILE_H

#include "LoadedModel.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tlm {

/// Collects step times over runs and prints one row a kernel.
class Profile {
public:
  explicit Profile(const LoadedModel &model);

  /// Pass to LoadedModel::run; the Profile must outlive the run.
  StepHook hook();

  /// Rows, heaviest first: calls an inference, median ms an inference, share,
  /// GFLOP/s and its share of `peakGflops`, GB/s.
  std::string table(double peakGflops) const;
  nlohmann::json json(double peakGflops) const;

private:
  struct Row {
    std::string kernel, taskKey;
    int calls = 0;
    double ms = 0, flops = 0, bytes = 0;
  };
  std::vector<Row> rows() const;

  const LoadedModel &model;
  std::vector<std::vector<int64_t>> samples; ///< ns, per step
};

} // namespace tlm

#endif // TLM_TOOLS_PROFILE_H
