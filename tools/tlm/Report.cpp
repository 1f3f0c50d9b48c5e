//===- Report.cpp - what --json writes ------------------------------------===//

#include "Report.h"

#include "Version.h"
#include "base/AtomicFile.h"
#include "target/Target.h"
#include "target/x86/Cpuid.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

namespace tlm {

nlohmann::json newReport(const std::string &command) {
  Target host = hostTarget();
  return {{"tool", "tlm"},
          {"version", kVersion},
          {"command", command},
          {"host",
           {{"cpu", x86::detectBrand()},
            {"target", host.cpu},
            {"isa", host.features},
            {"cores", std::thread::hardware_concurrency()},
            {"usable_cpus", host.threads},
            {"governor", frequencyGovernor()}}}};
}

Status writeReport(const nlohmann::json &report, const std::string &path) {
  if (path.empty())
    return success();
  // Names in a model need not be UTF-8.
  std::string text =
      report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  return writeFileAtomically(path, text + "\n");
}

nlohmann::json signatureJson(const std::vector<TensorSpec> &signature) {
  nlohmann::json list = nlohmann::json::array();
  for (const TensorSpec &spec : signature)
    list.push_back({{"name", spec.name},
                    {"dtype", std::string(nameOf(spec.dtype))},
                    {"dims", spec.dims}});
  return list;
}

nlohmann::json tensorJson(const HostTensor &tensor) {
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t notNumbers = 0, count = tensor.count();
  for (int64_t i = 0; i < count; ++i) {
    double value = tensor.at(i);
    if (std::isnan(value)) {
      ++notNumbers;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  return {{"name", tensor.name},
          {"type", tensor.typeText()},
          {"min", low},
          {"max", high},
          {"mean", count > notNumbers ? sum / double(count - notNumbers) : NAN},
          {"nan", notNumbers}};
}

std::string frequencyGovernor() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string governor;
  file >> governor;
  return governor;
}

std::string tensorText(const HostTensor &tensor, int64_t limit) {
  std::string text = tensor.name + " " + tensor.typeText();
  int64_t count = tensor.count();
  int64_t shown = limit < 0 ? count : std::min(count, limit);
  char number[40];
  for (int64_t i = 0; i < shown; ++i) {
    std::snprintf(number, sizeof(number), " %.9g", tensor.at(i));
    text += number;
  }
  return text + (shown < count ? " ...\n" : "\n");
}

} // namespace tlm
