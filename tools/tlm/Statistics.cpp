//===- Statistics.cpp - a summary of measured times -----------------------===//

#include "Statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tlm {
namespace {

double percentile(const std::vector<double> &sorted, double percent) {
  double rank = percent / 100 * double(sorted.size() - 1);
  auto low = size_t(rank);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (rank - double(low));
}

} // namespace

Statistics summarise(std::vector<double> samples,
                     const std::vector<double> &percentiles) {
  TLM_CHECK(!samples.empty()) << "no samples";
  std::sort(samples.begin(), samples.end());
  Statistics s;
  s.min = samples.front();
  s.max = samples.back();
  s.median = percentile(samples, 50);
  for (double sample : samples)
    s.mean += sample / double(samples.size());
  double squares = 0;
  for (double sample : samples)
    squares += (sample - s.mean) * (sample - s.mean);
  if (s.mean > 0)
    s.variationPercent =
        100 * std::sqrt(squares / double(samples.size())) / s.mean;
  for (double percent : percentiles)
    s.percentiles.push_back(percentile(samples, percent));
  return s;
}

Result<double> parseDuration(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  std::string unit(end);
  double scale = unit.empty() || unit == "s" ? 1
                 : unit == "ms"              ? 1e-3
                 : unit == "us"              ? 1e-6
                 : unit == "m"               ? 60
                                             : -1;
  if (end == text.c_str() || scale < 0 || !(value >= 0) ||
      !std::isfinite(value))
    return makeError("'" + text + "' is no duration; examples: 3s, 200ms", {},
                     ErrorCode::Usage);
  return value * scale;
}

} // namespace tlm
