//===- CompareCommand.cpp - tlm compare -----------------------------------===//

#include "BenchComparison.h"
#include "Commands.h"
#include "Report.h"
#include "base/AtomicFile.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::string before, after;
  double tolerance = 0.1;
};

Result<nlohmann::json> readJson(const std::string &path) {
  TLM_TRY(std::string text, readWholeFile(path));
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded())
    return makeError("'" + path + "' is no JSON");
  return parsed;
}

void printRow(const ComparedNumber &row) {
  std::printf("%-40s %10.3f %10.3f %7.2f\n", row.name.c_str(), row.before,
              row.after, row.ratio());
}

nlohmann::json rowJson(const ComparedNumber &row) {
  return {{"name", row.name},
          {"before", row.before},
          {"after", row.after},
          {"ratio", row.ratio()}};
}

Status compare(const Options &options, const GlobalOptions &global) {
  TLM_TRY(nlohmann::json before, readJson(options.before));
  TLM_TRY(nlohmann::json after, readJson(options.after));
  TLM_TRY(BenchComparison result,
          compareBenchReports(before, after, options.tolerance,
                              {options.before, options.after}));
  for (const std::string &warning : result.warnings)
    warn(global, warning);
  std::printf("%-40s %10s %10s %7s\n", "", "before", "after", "ratio");
  nlohmann::json numbers = nlohmann::json::array(),
                 kernels = nlohmann::json::array();
  for (const ComparedNumber &row : result.numbers) {
    printRow(row);
    numbers.push_back(rowJson(row));
  }
  for (const ComparedNumber &row : result.kernels) {
    bool changed = row.ratio() > 1 + options.tolerance ||
                   row.ratio() < 1 / (1 + options.tolerance);
    if (changed || global.verbosity > 0)
      printRow(row);
    kernels.push_back(rowJson(row));
  }
  if (result.onlyBefore || result.onlyAfter)
    std::printf("kernels in one report only: %zu before, %zu after\n",
                result.onlyBefore, result.onlyAfter);
  static constexpr const char *kNames[] = {"OK, the same", "OK, faster",
                                           "SLOWER"};
  bool slower = result.verdict == BenchVerdict::Slower;
  std::printf("compare: %s %.3f before, %.3f after, ratio %.2f (tolerance "
              "%.2f, noise %.2f) -> %s\n",
              result.deciding.name.c_str(), result.deciding.before,
              result.deciding.after, result.deciding.ratio(),
              1 + options.tolerance, 1 + result.noise,
              kNames[int(result.verdict)]);
  nlohmann::json report = newReport("compare");
  report["before"] = options.before;
  report["after"] = options.after;
  report["tolerance"] = options.tolerance;
  report["noise"] = result.noise;
  report["deciding"] = rowJson(result.deciding);
  report["ok"] = !slower;
  report["numbers"] = numbers;
  report["kernels"] = kernels;
  report["warnings"] = result.warnings;
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  if (!slower)
    return success();
  return makeError("'" + options.after + "' is slower than '" + options.before +
                       "' by more than the tolerance",
                   {}, ErrorCode::Mismatch);
}

} // namespace

Action addCompare(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("before", options->before, "report of tlm bench --json")
      ->required();
  app.add_option("after", options->after, "report to judge")->required();
  app.add_option("--tolerance", options->tolerance,
                 "how much slower is still the same: 0.1 is ten percent")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  return [options, &global] { return compare(*options, global); };
}

} // namespace tlm
