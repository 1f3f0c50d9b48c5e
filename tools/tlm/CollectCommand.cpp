//===- CollectCommand.cpp - tlm collect -----------------------------------===//
//
// Measured candidates of many tasks, for learning. Each task gets a number of
// candidates from each source; the default schedule is always among them. A
// source knows what the sources before it have found for the task: it repeats
// none of it, and the evolutionary one goes on from there. Its draws depend on
// that, the seed, the task and the source, not on the order of tasks or on the
// shard, and what the store knows is not measured again: the same command takes
// up a run that was stopped, and shards of several machines of one kind,
// merged, are one run.
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include "ModelProposals.h"
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
  ProposalFlags proposals;
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

/// A strategy, and how many of a task's candidates it proposes.
struct Source {
  std::string name;
  int64_t count = 0;
};

/// Of "NAME" and "NAME:WEIGHT". Before them comes the default schedule with the
/// fixed one (TaskTuner.h), so that records name who proposed them.
Result<std::vector<Source>> sourcesOf(const Options &options) {
  std::vector<Source> sources;
  std::vector<int64_t> weights;
  int64_t total = 0;
  for (const std::string &text : options.sources) {
    size_t colon = text.find(':');
    std::optional<int64_t> weight =
        colon == text.npos ? 1 : parseInteger(text.substr(colon + 1));
    std::string name = text.substr(0, colon);
    if (!strategyNamed(name) || !weight || *weight < 1 || *weight > 1000) {
      std::string names;
      for (const StrategyInfo &info : strategies())
        names += ' ' + std::string(info.name);
      return makeError("--sources '" + text +
                           "': expected NAME or NAME:WEIGHT, a weight being 1 "
                           "to 1000 and a name one of" +
                           names,
                       {}, ErrorCode::Usage);
    }
    sources.push_back({name});
    weights.push_back(*weight);
    total += *weight;
  }
  int64_t sum = 0, given = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    sum += weights[i];
    int64_t upTo = (options.count * sum + total - 1) / total;
    sources[i].count = upTo - given;
    given = upTo;
  }
  sources.insert(sources.begin(), {"default"});
  return sources;
}

/// A task and what its sources have found so far.
struct TaskTrials {
  Task task;
  std::vector<Trial> trials;
};

class Collector {
public:
  Collector(const Options &options, const std::vector<Source> &sources,
            const std::optional<ModelProposals> &proposals,
            const TuneOptions &tuneOptions, const RecordLogOptions &logOptions,
            double budgetSeconds)
      : options(options), sources(sources), proposals(proposals),
        tuneOptions(tuneOptions), logOptions(logOptions),
        budgetSeconds(budgetSeconds) {}

  /// Whether there was time for all of it.
  Result<bool> run(const std::vector<Task> &tasks, const GlobalOptions &global);
  const Tally &counts() const { return tally; }
  double seconds() const { return secondsSince(begin); }

private:
  bool isOver() const {
    return stop || (budgetSeconds > 0 && seconds() >= budgetSeconds);
  }
  Result<bool> collect(TaskTrials &entry, const Source &source);

  const Options &options;
  const std::vector<Source> &sources;
  const std::optional<ModelProposals> &proposals;
  TuneOptions tuneOptions;
  RecordLogOptions logOptions;
  double budgetSeconds;
  const std::atomic<bool> &stop = interruptFlag();
  Clock::time_point begin = Clock::now();
  Tally tally;
};

Result<bool> Collector::collect(TaskTrials &entry, const Source &source) {
  const Task &task = entry.task;
  const std::string &name = source.name;
  tuneOptions.seed = seedOf(options, task, name);
  logOptions.strategy = name;
  logOptions.seed = options.seed;
  TLM_TRY(RecordLog log, RecordLog::open(logOptions, task));
  TaskContext context;
  context.log = &log;
  context.observed = entry.trials;
  std::vector<Schedule> written;
  if (name == "model") {
    const Task *pointer = &task;
    written =
        std::move(proposals->of({&pointer, 1}, tuneOptions.target,
                                tuneOptions.schedule, tuneOptions.jobs)[0]);
    context.written = written;
  }
  TaskTuner tuner(task, *strategyNamed(name), tuneOptions, context);
  // Beside the default schedule and the fixed one.
  int64_t wanted = source.count + 2;
  for (;;) {
    int64_t done = int64_t(tuner.result().trials.size());
    if (done >= wanted)
      break;
    if (isOver())
      return false;
    int64_t knownBefore = tuner.result().remembered;
    double built = tuner.result().buildSeconds,
           timed = tuner.result().measureSeconds;
    int64_t added = tuner.round(wanted - done);
    TLM_TRY_STATUS(log.status());
    if (added == 0)
      break; // the space has no more leaves, or the source no more ideas
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
  // The default and the fixed schedule are of every source.
  KnownLeaves known;
  for (const Trial &trial : entry.trials)
    known.insert(trial.schedule);
  for (const Trial &trial : tuner.result().trials)
    if (known.insert(trial.schedule))
      entry.trials.push_back(trial);
  return true;
}

Result<bool> Collector::run(const std::vector<Task> &tasks,
                            const GlobalOptions &global) {
  Progress progress(global, int64_t(tasks.size() * sources.size()));
  std::vector<TaskTrials> entries;
  for (const Task &task : tasks)
    entries.push_back({task, {}});
  // All tasks get a little before any gets all: what a run that ends early
  // leaves is spread.
  for (const Source &source : sources)
    for (TaskTrials &entry : entries) {
      TLM_TRY(bool whole, collect(entry, source));
      if (!whole)
        return false;
      char rate[60];
      std::snprintf(rate, sizeof rate, "%lld measured, %.1f a second, ",
                    static_cast<long long>(tally.measured),
                    double(tally.measured) / std::max(1e-3, seconds()));
      progress.update(++tally.finished, "parts, " + (rate + source.name) +
                                            " of " + entry.task.label());
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
  TLM_TRY(std::vector<Source> sources, sourcesOf(options));
  std::vector<std::string> names;
  int64_t most = 0;
  for (const Source &source : sources) {
    names.push_back(source.name);
    most = std::max(most, source.count);
  }
  TLM_TRY(std::optional<ModelProposals> proposals,
          options.proposals.load(names, most, options.seed));
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
  Collector collector(options, sources, proposals, tuneOptions, logOptions,
                      budgetSeconds);
  TLM_TRY(bool whole, collector.run(tasks, global));
  const Tally &tally = collector.counts();
  std::printf("%lld measured in %.1f s (%.1f a second), %lld were known\n",
              static_cast<long long>(tally.measured), collector.seconds(),
              double(tally.measured) / std::max(1e-3, collector.seconds()),
              static_cast<long long>(tally.known));
  printCounts("outcomes", tally.outcomes);
  printCounts("measured", tally.bySource);
  size_t parts = tasks.size() * sources.size();
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
  app.add_option("--sources", options->sources,
                 "strategies of tlm tune, in this order; NAME:WEIGHT gets so "
                 "many times the share of a NAME")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--seed", options->seed, "of the draws")
      ->capture_default_str();
  app.add_option("--time-budget", options->timeBudget, "end after about: 90s")
      ->type_name("TIME");
  options->proposals.add(app);
  options->compile.add(app);
  return [options, &global] { return collect(*options, global); };
}

} // namespace tlm
