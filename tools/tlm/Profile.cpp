//===- Profile.cpp - where the time goes, kernel by kernel ----------------===//

#include "Profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace tlm {
namespace {

/// The middle sample: one disturbed run must not move a kernel's row.
double median(std::vector<int64_t> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return double(*middle);
}

} // namespace

Profile::Profile(const LoadedModel &model)
    : model(model), samples(model.steps().size()) {}

StepHook Profile::hook() {
  return [this](tlm_context *, int32_t step, int64_t begin, int64_t end) {
    samples[size_t(step)].push_back(end - begin);
  };
}

std::vector<Profile::Row> Profile::rows() const {
  std::map<std::string, Row> byTask;
  for (size_t i = 0; i < samples.size(); ++i) {
    const StepFacts &step = model.steps()[i];
    Row &row = byTask[step.taskKey];
    row.kernel = step.kernel;
    row.taskKey = step.taskKey;
    row.calls += 1;
    row.ms += median(samples[i]) / 1e6;
    row.flops += step.flops;
    row.bytes += step.bytes;
  }
  std::vector<Row> rows;
  rows.reserve(byTask.size());
  for (auto &[key, row] : byTask)
    rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row &a, const Row &b) { return a.ms > b.ms; });
  return rows;
}

std::string Profile::table(double peakGflops) const {
  std::vector<Row> all = rows();
  double total = 0;
  size_t width = 6;
  for (const Row &row : all) {
    total += row.ms;
    width = std::max(width, row.kernel.size());
  }
  std::string text;
  char line[512];
  std::snprintf(line, sizeof(line), "%3s  %-*s %6s %9s %6s %9s %6s %7s\n", "#",
                int(width), "kernel", "calls", "total ms", "%", "GFLOP/s",
                "%peak", "GB/s");
  text += line;
  for (size_t i = 0; i < all.size(); ++i) {
    const Row &row = all[i];
    double seconds = std::max(row.ms, 1e-9) / 1e3;
    double gflops = row.flops / seconds / 1e9;
    std::snprintf(line, sizeof(line),
                  "%3zu  %-*s %6d %9.3f %6.1f %9.1f %6.1f %7.1f\n", i + 1,
                  int(width), row.kernel.c_str(), row.calls, row.ms,
                  total > 0 ? 100 * row.ms / total : 0, gflops,
                  100 * gflops / peakGflops, row.bytes / seconds / 1e9);
    text += line;
  }
  std::snprintf(line, sizeof(line), "%3s  %-*s %6zu %9.3f\n", "", int(width),
                "all steps", samples.size(), total);
  return text + line;
}

nlohmann::json Profile::json(double peakGflops) const {
  nlohmann::json kernels = nlohmann::json::array();
  for (const Row &row : rows()) {
    double seconds = std::max(row.ms, 1e-9) / 1e3;
    kernels.push_back(
        {{"kernel", row.kernel},
         {"task", row.taskKey},
         {"calls", row.calls},
         {"total_ms", row.ms},
         {"flops", row.flops},
         {"bytes", row.bytes},
         {"gflops", row.flops / seconds / 1e9},
         {"percent_of_peak", 100 * row.flops / seconds / 1e9 / peakGflops}});
  }
  return kernels;
}

} // namespace tlm
