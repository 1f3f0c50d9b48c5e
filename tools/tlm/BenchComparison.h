//===- BenchComparison.h - two reports of tlm bench -------------*- C++ -*-===//

#ifndef TLM_TOOLS_BENCHCOMPARISON_H
#define TLM_TOOLS_BENCHCOMPARISON_H

#include "base/Result.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tlm {

/// One number in both reports.
struct ComparedNumber {
  std::string name; ///< "median ms", "throughput /s", a kernel's label
  double before = 0, after = 0;

  double ratio() const { return after / before; }
};

/// "same": within the tolerance, or within what the samples' spread explains.
enum class BenchVerdict { Same, Faster, Slower };

struct BenchComparison {
  std::vector<ComparedNumber> numbers;  ///< of the whole network
  std::vector<ComparedNumber> kernels;  ///< ms, tasks of both, largest change
                                        ///< in time first
  size_t onlyBefore = 0, onlyAfter = 0; ///< tasks of one report
  /// The number that decides: median latency, or with parallel callers the time
  /// between two results.
  ComparedNumber deciding;
  double noise = 0; ///< three standard errors of `deciding`, as a ratio
  BenchVerdict verdict = BenchVerdict::Same;
  /// What makes the two hard to compare: another CPU, another thread count.
  std::vector<std::string> warnings;
};

/// Fails when one of them is no report of `tlm bench`; `where` are the files.
/// tolerance: 0.1 = ten percent.
Result<BenchComparison> compareBenchReports(const nlohmann::json &before,
                                            const nlohmann::json &after,
                                            double tolerance,
                                            const std::string (&where)[2]);

} // namespace tlm

#endif // TLM_TOOLS_BENCHCOMPARISON_H
