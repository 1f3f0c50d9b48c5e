//===- CollectCommand.cpp - tlm collect -----------------------------------===//
//
// Measured candidates of many tasks, for learning. Each task gets a number of
// candidates from each source; the default schedule is always among them. The
// draws of a source depend on the seed, the task and the source, not on the
// order of tasks or on the shard, and what the store knows is not measured
// again: the same command takes up a run that was stopped, and shards of
// several machines of one kind, merged, are one run.
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include "Progress.h"
#include "Report.h"
#include "Statistics.h"
#include "TaskFiles.h"
#include "TuneRecords.h"
#include "base/Hash.h"
#include "base/NumberText.h"
#include "records/Store.h"
#include "search/TaskTuner.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

namespace tlm {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> paths,
      sources{"random", "near-default", "evolutionary"};
  CompileFlags compile;
  std::string records, shard = "1/1", timeBudget;
  int64_t count = 60;
  uint64_t seed = 1;
};

/// What a run has come to.
struct Tally {
  int64_t measured = 0, known = 0, finished = 0;
  double buildSeconds = 0, measureSeconds = 0;
  std::map<std::string, int64_t> outcomes, bySource;
};

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The tasks of shard "i/n": by a hash of the key, the same on every machine.
Result<std::vector<Task>> shardOf(std::vector<Task> tasks,
                                  const std::string &text) {
  size_t slash = text.find('/');
  std::optional<int64_t> part = parseInteger(text.substr(0, slash));
  std::optional<int64_t> parts =
      slash == text.npos ? std::nullopt : parseInteger(text.substr(slash + 1));
  if (!part || !parts || *part < 1 || *part > *parts)
    return makeError("--shard '" + text + "': expected i/n with 1 <= i <= n",
                     {}, ErrorCode::Usage);
  std::erase_if(tasks, [&](const Task &task) {
    return hash64(task.key()) % uint64_t(*parts) != uint64_t(*part - 1);
  });
  return tasks;
}

uint64_t seedOf(const Options &options, const Task &task,
                const std::string &source) {
  return hash64(std::to_string(options.seed) + ' ' + task.key() + ' ' + source);
}

/// Of the candidates of a task, those of one source.
int64_t shareOf(const Options &options, size_t source) {
  auto sources = int64_t(options.sources.size());
  return options.count / sources +
         (int64_t(source) < options.count % sources ? 1 : 0);
}

class Collector {
public:
  Collector(const Options &options, const TuneOptions &tuneOptions,
            const RecordLogOptions &logOptions, double budgetSeconds)
      : options(options), tuneOptions(tuneOptions), logOptions(logOptions),
        budgetSeconds(budgetSeconds) {}

  /// Whether there was time for all of it.
  Result<bool> run(const std::vector<Task> &tasks, const GlobalOptions &global);
  const Tally &counts() const { return tally; }
  double seconds() const { return secondsSince(begin); }

private:
  bool isOver() const {
    return stop || (budgetSeconds > 0 && seconds() >= budgetSeconds);
  }
  Result<bool> collect(const Task &task, size_t source);

  const Options &options;
  TuneOptions tuneOptions;
  RecordLogOptions logOptions;
  double budgetSeconds;
  const std::atomic<bool> &stop = interruptFlag();
  Clock::time_point begin = Clock::now();
  Tally tally;
};

Result<bool> Collector::collect(const Task &task, size_t source) {
  const std::string &name = options.sources[source];
  tuneOptions.seed = seedOf(options, task, name);
  logOptions.strategy = name;
  logOptions.seed = options.seed;
  TLM_TRY(RecordLog log, RecordLog::open(logOptions, task));
  TaskContext context;
  context.log = &log;
  TaskTuner tuner(task, *strategyNamed(name), tuneOptions, context);
  // Beside the default schedule and the fixed one (TaskTuner.h).
  int64_t wanted = shareOf(options, source) + 2;
  for (;;) {
    int64_t done = int64_t(tuner.result().trials.size());
    if (done >= wanted)
      return true;
    if (isOver())
      return false;
    int64_t knownBefore = tuner.result().remembered;
    double built = tuner.result().buildSeconds,
           timed = tuner.result().measureSeconds;
    int64_t added = tuner.round(wanted - done);
    TLM_TRY_STATUS(log.status());
    if (added == 0)
      return true; // the space has no more leaves
    int64_t known = tuner.result().remembered - knownBefore;
    tally.known += known;
    tally.buildSeconds += tuner.result().buildSeconds - built;
    tally.measureSeconds += tuner.result().measureSeconds - timed;
    tally.measured += added - known;
    tally.bySource[name] += added - known;
    for (size_t i = size_t(done); i < tuner.result().trials.size(); ++i)
      ++tally.outcomes[std::string(
          nameOf(tuner.result().trials[i].measurement.outcome))];
  }
}

Result<bool> Collector::run(const std::vector<Task> &tasks,
                            const GlobalOptions &global) {
  Progress progress(global, int64_t(tasks.size() * options.sources.size()));
  // All tasks get a little before any gets all: what a run that ends early
  // leaves is spread.
  for (size_t source = 0; source < options.sources.size(); ++source)
    for (const Task &task : tasks) {
      TLM_TRY(bool whole, collect(task, source));
      if (!whole)
        return false;
      char rate[60];
      std::snprintf(rate, sizeof rate, "%lld measured, %.1f a second, ",
                    static_cast<long long>(tally.measured),
                    double(tally.measured) / std::max(1e-3, seconds()));
      progress.update(++tally.finished, "parts, " +
                                            (rate + options.sources[source]) +
                                            " of " + task.label());
    }
  return true;
}

void printCounts(const char *title, const std::map<std::string, int64_t> &map) {
  std::printf("%-10s", title);
  for (const auto &[name, count] : map)
    std::printf(" %s %lld", name.c_str(), static_cast<long long>(count));
  std::printf("\n");
}

Status collect(const Options &options, const GlobalOptions &global) {
  double budgetSeconds = 0;
  if (!options.timeBudget.empty()) {
    TLM_TRY(budgetSeconds, parseDuration(options.timeBudget));
  }
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  if (std::string missing = missingFeature(compile.target); !missing.empty())
    return makeError("what is measured must run here, and this machine lacks " +
                         missing,
                     {}, ErrorCode::Machine);
  TLM_TRY(std::vector<Task> all,
          readTasks(options.paths, options.compile, global));
  size_t countAll = all.size();
  TLM_TRY(std::vector<Task> tasks, shardOf(std::move(all), options.shard));

  TuneOptions tuneOptions;
  tuneOptions.target = compile.target;
  tuneOptions.schedule = compile.schedule;
  tuneOptions.jobs = compile.jobs ? compile.jobs : usableCpus();
  tuneOptions.measure.threads = int(compile.target.threads);
  TLM_TRY(RecordLogOptions logOptions,
          recordLogOptions(options.records, compile.target, "", options.seed,
                           global));
  std::printf("%zu of %zu tasks (shard %s) for %s, %lld threads, %lld "
              "candidates each\n",
              tasks.size(), countAll, options.shard.c_str(),
              compile.target.cpu.c_str(),
              static_cast<long long>(compile.target.threads),
              static_cast<long long>(options.count));
  std::fflush(stdout);
  Collector collector(options, tuneOptions, logOptions, budgetSeconds);
  TLM_TRY(bool whole, collector.run(tasks, global));
  const Tally &tally = collector.counts();
  std::printf("%lld measured in %.1f s (%.1f a second), %lld were known\n",
              static_cast<long long>(tally.measured), collector.seconds(),
              double(tally.measured) / std::max(1e-3, collector.seconds()),
              static_cast<long long>(tally.known));
  printCounts("outcomes", tally.outcomes);
  printCounts("measured", tally.bySource);
  size_t parts = tasks.size() * options.sources.size();
  std::printf("%lld of %zu parts (a task from a source) done%s\n",
              static_cast<long long>(tally.finished), parts,
              whole ? "" : "; the same command goes on");
  nlohmann::json report = newReport("collect");
  report["tasks"] = tasks.size();
  report["shard"] = options.shard;
  report["measured"] = tally.measured;
  report["known"] = tally.known;
  report["outcomes"] = tally.outcomes;
  report["sources"] = tally.bySource;
  report["parts"] = parts;
  report["finished"] = tally.finished;
  report["seconds"] = collector.seconds();
  report["build_s"] = tally.buildSeconds;
  report["measure_s"] = tally.measureSeconds;
  report["calibration_us"] = tuneOptions.measure.calibration->fastest();
  return writeReport(report, global.jsonPath);
}

} // namespace

Action addCollect(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("models", options->paths,
                 "models, task texts (*.task), folders of both")
      ->required();
  app.add_option("--records", options->records,
                 "the store; made if there is none")
      ->required()
      ->type_name("STORE");
  app.add_option("--count", options->count,
                 "candidates a task, shared by the sources")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--shard", options->shard,
                 "only the i-th of n parts of the tasks: 2/5")
      ->type_name("i/n")
      ->capture_default_str();
  std::vector<std::string> names;
  for (const StrategyInfo &info : strategies())
    names.emplace_back(info.name);
  app.add_option("--sources", options->sources,
                 "strategies of tlm tune, in this order")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--seed", options->seed, "of the draws")
      ->capture_default_str();
  app.add_option("--time-budget", options->timeBudget, "end after about: 90s")
      ->type_name("TIME");
  options->compile.add(app);
  return [options, &global] { return collect(*options, global); };
}

} // namespace tlm
