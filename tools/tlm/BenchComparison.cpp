//===- BenchComparison.cpp - two reports of tlm bench ---------------------===//

#include "BenchComparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace tlm {
namespace {

using nlohmann::json;

/// The value at "/a/b", or null.
const json &find(const json &report, const std::string &pointer) {
  static const json missing;
  json::json_pointer place(pointer);
  return report.contains(place) ? report.at(place) : missing;
}

/// A positive number at "/a/b".
std::optional<double> number(const json &report, const std::string &pointer) {
  const json &value = find(report, pointer);
  if (!value.is_number())
    return std::nullopt;
  auto found = value.get<double>();
  if (!std::isfinite(found) || found <= 0)
    return std::nullopt;
  return found;
}

double medianOf(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Standard error of the median over the median, from the samples' median
/// absolute deviation. 0 with fewer than three samples.
double relativeError(const json &report) {
  std::vector<double> samples;
  const json &stored = find(report, "/samples");
  if (stored.is_array())
    for (const json &sample : stored)
      if (sample.is_number())
        samples.push_back(sample.get<double>());
  if (samples.size() < 3)
    return 0;
  double middle = medianOf(samples);
  auto count = double(samples.size());
  for (double &sample : samples)
    sample = std::abs(sample - middle);
  double deviation = 1.4826 * medianOf(std::move(samples));
  return middle > 0 ? 1.2533 * deviation / std::sqrt(count) / middle : 0;
}

struct KernelTime {
  std::string label;
  double ms = 0;
};

std::map<std::string, KernelTime> kernelsOf(const json &report) {
  std::map<std::string, KernelTime> kernels;
  const json &rows = find(report, "/kernels");
  if (!rows.is_array())
    return kernels;
  for (const json &row : rows) {
    const json &task = find(row, "/task"), &label = find(row, "/kernel");
    std::optional<double> ms = number(row, "/total_ms");
    if (task.is_string() && label.is_string() && ms)
      kernels[task.get<std::string>()] = {label.get<std::string>(), *ms};
  }
  return kernels;
}

void compareKernels(const json &before, const json &after,
                    BenchComparison &result) {
  std::map<std::string, KernelTime> a = kernelsOf(before), b = kernelsOf(after);
  if (a.empty() || b.empty())
    return;
  for (auto &[task, kernel] : a)
    if (auto other = b.find(task); other != b.end())
      result.kernels.push_back({kernel.label, kernel.ms, other->second.ms});
  result.onlyBefore = a.size() - result.kernels.size();
  result.onlyAfter = b.size() - result.kernels.size();
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [](const ComparedNumber &x, const ComparedNumber &y) {
                     return std::abs(x.after - x.before) >
                            std::abs(y.after - y.before);
                   });
}

} // namespace

Result<BenchComparison> compareBenchReports(const json &before,
                                            const json &after, double tolerance,
                                            const std::string (&where)[2]) {
  const json *reports[] = {&before, &after};
  for (size_t i = 0; i < 2; ++i)
    if (find(*reports[i], "/command") != "bench" ||
        !number(*reports[i], "/latency_ms/median") ||
        !number(*reports[i], "/throughput"))
      return makeError("'" + where[i] + "' is no report of tlm bench",
                       "write one with tlm bench model.so --json FILE");
  BenchComparison result;
  for (auto &[key, value] : before["latency_ms"].items()) {
    if (key == "n" || key == "cov_percent")
      continue;
    auto a = number(before, "/latency_ms/" + key);
    auto b = number(after, "/latency_ms/" + key);
    if (a && b)
      result.numbers.push_back({key + " ms", *a, *b});
  }
  result.numbers.push_back({"throughput /s", *number(before, "/throughput"),
                            *number(after, "/throughput")});
  compareKernels(before, after, result);

  const std::pair<const char *, const char *> alike[] = {
      {"/host/cpu", "CPU"},
      {"/model/flops", "FLOP of the model"},
      {"/config/threads", "threads"},
      {"/config/streams", "streams"},
  };
  for (auto &[pointer, name] : alike)
    if (find(before, pointer) != find(after, pointer))
      result.warnings.push_back(std::string("the reports differ in ") + name +
                                ": " + find(before, pointer).dump() + " and " +
                                find(after, pointer).dump());

  bool parallel = number(before, "/config/streams").value_or(1) > 1 &&
                  number(after, "/config/streams").value_or(1) > 1;
  if (parallel)
    result.deciding = {"ms a result", 1e3 / *number(before, "/throughput"),
                       1e3 / *number(after, "/throughput")};
  else
    result.deciding = {"median ms", *number(before, "/latency_ms/median"),
                       *number(after, "/latency_ms/median")};
  result.noise = 3 * std::hypot(relativeError(before), relativeError(after));
  double limit = std::max(tolerance, result.noise);
  if (result.deciding.ratio() > 1 + limit)
    result.verdict = BenchVerdict::Slower;
  else if (result.deciding.ratio() < 1 / (1 + limit))
    result.verdict = BenchVerdict::Faster;
  return result;
}

} // namespace tlm
