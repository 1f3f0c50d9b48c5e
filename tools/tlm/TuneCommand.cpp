//===- TuneCommand.cpp - tlm tune -----------------------------------------===//

#include "NetworkTasks.h"
#include "Progress.h"
#include "Report.h"
#include "TuneRecords.h"
#include "base/AtomicFile.h"
#include "search/TaskTuner.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

namespace tlm {
namespace {

struct Options {
  std::vector<std::string> paths;
  CompileFlags compile;
  std::string strategy = "evolutionary", output, records;
  int64_t trials = 64, heaviest = 0;
  uint64_t seed = 1;
};

const StrategyInfo *strategyNamed(const std::string &name) {
  for (const StrategyInfo &info : strategies())
    if (info.name == name)
      return &info;
  return nullptr;
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::map<std::string, int64_t> outcomesOf(const TuneResult &result) {
  std::map<std::string, int64_t> counts;
  for (const Trial &trial : result.trials)
    ++counts[std::string(nameOf(trial.measurement.outcome))];
  return counts;
}

nlohmann::json taskJson(const NetworkTask &entry, const TuneResult &result) {
  nlohmann::json trials = nlohmann::json::array();
  for (const Trial &trial : result.trials)
    trials.push_back({{"schedule", trial.schedule.text()},
                      {"outcome", nameOf(trial.measurement.outcome)},
                      {"min_us", trial.measurement.minMicroseconds},
                      {"median_us", trial.measurement.medianMicroseconds},
                      {"slowdown", trial.measurement.slowdown},
                      {"detail", trial.measurement.detail}});
  return {{"key", entry.task.key()},
          {"label", entry.task.label()},
          {"kind", nameOf(entry.task.kind)},
          {"calls", entry.calls},
          {"default_us", result.defaultMicroseconds},
          {"fixed_us", result.fixedMicroseconds},
          {"best_us", result.bestMicroseconds},
          {"best_schedule", result.bestSchedule.text()},
          {"build_s", result.buildSeconds},
          {"measure_s", result.measureSeconds},
          {"remembered", result.remembered},
          {"outcomes", outcomesOf(result)},
          {"trials", trials}};
}

/// Sums over the tasks of one path.
struct Total {
  double fixed = 0, byDefault = 0, best = 0;
};

void printTotals(const std::vector<std::string> &paths,
                 const std::vector<NetworkTask> &tasks,
                 const std::vector<TuneResult> &results,
                 nlohmann::json &report) {
  std::vector<Total> totals(paths.size());
  double logGain = 0, logFixed = 0;
  int64_t count = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const TuneResult &r = results[i];
    if (r.bestMicroseconds <= 0 || r.fixedMicroseconds <= 0)
      continue;
    for (size_t p = 0; p < paths.size(); ++p) {
      double calls = double(tasks[i].calls[p]) / 1e3;
      totals[p].fixed += calls * r.fixedMicroseconds;
      totals[p].byDefault += calls * r.defaultMicroseconds;
      totals[p].best += calls * r.bestMicroseconds;
    }
    logGain += std::log(r.defaultMicroseconds / r.bestMicroseconds);
    logFixed += std::log(r.fixedMicroseconds / r.bestMicroseconds);
    ++count;
  }
  std::printf("\n%-40s %9s %9s %9s %12s %10s\n", "sum over kernels", "fixed ms",
              "default", "best", "default/best", "fixed/best");
  nlohmann::json list = nlohmann::json::array();
  for (size_t p = 0; p < paths.size(); ++p) {
    const Total &t = totals[p];
    std::printf("%-40s %9.3f %9.3f %9.3f %11.3fx %9.3fx\n",
                paths[p].substr(paths[p].rfind('/') + 1).c_str(), t.fixed,
                t.byDefault, t.best, ratio(t.byDefault, t.best),
                ratio(t.fixed, t.best));
    list.push_back({{"path", paths[p]},
                    {"fixed_ms", t.fixed},
                    {"default_ms", t.byDefault},
                    {"best_ms", t.best}});
  }
  if (count)
    std::printf("geometric mean over %lld tasks: default/best %.3fx, "
                "fixed/best %.3fx\n",
                static_cast<long long>(count),
                std::exp(logGain / double(count)),
                std::exp(logFixed / double(count)));
  report["networks"] = list;
}

std::string fileText(const std::vector<NetworkTask> &tasks,
                     const std::vector<TuneResult> &results) {
  std::string text;
  char line[160];
  for (size_t i = 0; i < results.size(); ++i) {
    const TuneResult &r = results[i];
    std::snprintf(line, sizeof line, " default %.2f us, this %.2f us\n",
                  r.defaultMicroseconds, r.bestMicroseconds);
    text += "# " + tasks[i].task.label() + line + r.bestSchedule.text() + '\n';
  }
  return text;
}

void printResult(const NetworkTask &entry, const TuneResult &r) {
  std::printf("%-44s %10.2f %10.2f %10.2f %8.3fx %6zu", //
              entry.task.label().substr(0, 44).c_str(), r.fixedMicroseconds,
              r.defaultMicroseconds, r.bestMicroseconds,
              ratio(r.defaultMicroseconds, r.bestMicroseconds),
              r.trials.size());
  for (const auto &[name, count] : outcomesOf(r))
    if (name != "ok")
      std::printf("  %s %lld", name.c_str(), static_cast<long long>(count));
  if (r.remembered)
    std::printf("  %lld from records", static_cast<long long>(r.remembered));
  std::printf("\n");
  std::fflush(stdout);
}

Status tune(const Options &options, const GlobalOptions &global) {
  const StrategyInfo *strategy = strategyNamed(options.strategy);
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  if (std::string missing = missingFeature(compile.target); !missing.empty())
    return makeError("what is tuned must run here, and this machine lacks " +
                         missing,
                     {}, ErrorCode::Machine);
  TLM_TRY(std::vector<NetworkTask> tasks,
          networkTasks(options.paths, options.compile));
  auto weight = [](const NetworkTask &entry) {
    double calls = 0;
    for (int64_t each : entry.calls)
      calls += double(each);
    return calls * (entry.task.flops() + 8 * entry.task.bytes());
  };
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const NetworkTask &a, const NetworkTask &b) {
                     return weight(a) > weight(b);
                   });
  if (options.heaviest > 0 && tasks.size() > size_t(options.heaviest))
    tasks.resize(size_t(options.heaviest));

  TuneOptions tuneOptions;
  tuneOptions.target = compile.target;
  tuneOptions.schedule = compile.schedule;
  tuneOptions.trials = options.trials;
  tuneOptions.seed = options.seed;
  tuneOptions.jobs = compile.jobs ? compile.jobs : usableCpus();
  tuneOptions.measure.threads = int(compile.target.threads);
  std::printf("%zu tasks for %s, %lld threads, %s, at most %lld trials each\n",
              tasks.size(), compile.target.cpu.c_str(),
              static_cast<long long>(compile.target.threads),
              options.strategy.c_str(), static_cast<long long>(options.trials));
  std::printf("%-44s %10s %10s %10s %9s %6s\n", "task", "fixed us", "default",
              "best", "gain", "trials");
  TLM_TRY(RecordLogOptions logOptions,
          recordLogOptions(options.records, compile.target, options.strategy,
                           options.seed, global));
  std::vector<TuneResult> results;
  nlohmann::json list = nlohmann::json::array();
  {
    Progress progress(global, int64_t(tasks.size()) * options.trials);
    for (size_t i = 0; i < tasks.size(); ++i) {
      int64_t before = int64_t(i) * options.trials;
      std::optional<RecordLog> log;
      if (!options.records.empty()) {
        TLM_TRY(log, RecordLog::open(logOptions, tasks[i].task));
        tuneOptions.log = &*log;
      }
      results.push_back(
          tuneTask(tasks[i].task, *strategy, tuneOptions, [&](int64_t done) {
            progress.update(before + std::min(done, options.trials),
                            "trials, " + tasks[i].task.label());
          }));
      if (log)
        TLM_TRY_STATUS(log->status());
      list.push_back(taskJson(tasks[i], results.back()));
      printResult(tasks[i], results.back());
      // A run that is stopped leaves what it has found.
      if (!options.output.empty())
        TLM_TRY_STATUS(
            writeFileAtomically(options.output, fileText(tasks, results)));
    }
  }
  nlohmann::json report = newReport("tune");
  report["strategy"] = options.strategy;
  report["seed"] = options.seed;
  report["threads"] = compile.target.threads;
  report["tasks"] = list;
  printTotals(options.paths, tasks, results, report);
  return writeReport(report, global.jsonPath);
}

} // namespace

Action addTune(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("models", options->paths, "models and task texts (*.task)")
      ->required();
  std::vector<std::string> names;
  std::string words;
  for (const StrategyInfo &info : strategies()) {
    names.emplace_back(info.name);
    words += (words.empty() ? "" : "; ") + std::string(info.name) + ": " +
             std::string(info.summary);
  }
  app.add_option("--strategy", options->strategy, words)
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--trials", options->trials, "candidates a task")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--heaviest", options->heaviest,
                 "tune only so many tasks, those with most work")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--seed", options->seed, "of the search")
      ->capture_default_str();
  app.add_option("-o,--output", options->output,
                 "write the fastest schedules here, for --schedule-from")
      ->type_name("FILE");
  app.add_option("--records", options->records,
                 "keep every measurement in this store, and measure nothing "
                 "that it knows: the same command takes up a run that was "
                 "stopped")
      ->type_name("STORE");
  options->compile.add(app);
  return [options, &global] { return tune(*options, global); };
}

} // namespace tlm
