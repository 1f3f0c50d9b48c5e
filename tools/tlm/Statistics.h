//===- Statistics.h - a summary of measured times ---------------*- C++ -*-===//

#ifndef TLM_TOOLS_STATISTICS_H
#define TLM_TOOLS_STATISTICS_H

#include "base/Result.h"

#include <string>
#include <vector>

namespace tlm {

struct Statistics {
  double min = 0, median = 0, mean = 0, max = 0;
  double variationPercent = 0; ///< standard deviation / mean
  /// Same order as asked.
  std::vector<double> percentiles;
};

/// Of at least one sample. Percentiles interpolate between ranks.
Statistics summarise(std::vector<double> samples,
                     const std::vector<double> &percentiles);

/// "3s", "200ms", "1.5" (seconds) -> seconds.
Result<double> parseDuration(const std::string &text);

} // namespace tlm

#endif // TLM_TOOLS_STATISTICS_H
