//===- TuneCommand.cpp - tlm tune -----------------------------------------===//

#include "Interrupt.h"
#include "ModelProposals.h"
#include "NetworkTasks.h"
#include "Progress.h"
#include "Report.h"
#include "Statistics.h"
#include "TuneRecords.h"
#include "TuneReport.h"
#include "base/AtomicFile.h"
#include "search/NetworkTuner.h"
#include "space/ScheduleFile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::vector<std::string> paths, also;
  CompileFlags compile;
  ProposalFlags proposals;
  std::string strategy = "evolutionary", output, records, timeBudget;
  int64_t trials = 0, totalTrials = 0, earlyStop = 0, heaviest = 0;
  int64_t finalists = 4, finalRounds = 5;
  uint64_t seed = 1;
  bool dryRun = false;
};

Result<TuneBudget> budgetOf(const Options &options,
                            const StrategyInfo &strategy) {
  TuneBudget budget;
  budget.totalTrials = options.totalTrials;
  budget.earlyStop = options.earlyStop;
  if (!options.timeBudget.empty()) {
    TLM_TRY(budget.seconds, parseDuration(options.timeBudget));
    if (budget.seconds <= 0)
      return makeError("--time-budget " + options.timeBudget +
                           ": expected a time above 0",
                       {}, ErrorCode::Usage);
  }
  // A strategy that searches is bounded by the shared budget alone.
  constexpr int64_t kManyTrials = 1000000;
  bool ends = strategy.trials < 16;
  budget.trialsPerTask = options.trials               ? options.trials
                         : budget.isShared() && !ends ? kManyTrials
                                                      : strategy.trials;
  return budget;
}

std::string budgetText(const TuneBudget &budget) {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "at most " : ", ") + part;
  };
  if (budget.totalTrials > 0)
    add(std::to_string(budget.totalTrials) + " trials");
  if (budget.seconds > 0)
    add(std::to_string(int64_t(std::ceil(budget.seconds))) + " s");
  if (!budget.isShared())
    add(std::to_string(budget.trialsPerTask) + " trials each");
  return text;
}

/// Work of all calls, to begin with what matters.
double weightOf(const NetworkTask &entry) {
  double calls = 0;
  for (int64_t each : entry.calls)
    calls += double(each);
  return calls * (entry.task.flops() + 8 * entry.task.bytes());
}

Result<std::vector<NetworkTask>> heaviestTasks(const Options &options) {
  TLM_TRY(std::vector<NetworkTask> tasks,
          networkTasks(options.paths, options.compile));
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const NetworkTask &a, const NetworkTask &b) {
                     return weightOf(a) > weightOf(b);
                   });
  if (options.heaviest > 0 && tasks.size() > size_t(options.heaviest))
    tasks.resize(size_t(options.heaviest));
  return tasks;
}

/// What would be tuned: calls, work, and how many schedules there are.
Status printTasks(const std::vector<NetworkTask> &tasks,
                  const CompileOptions &compile, const GlobalOptions &global) {
  std::printf("%3s %-40s %5s %10s %10s %10s  %s\n", "id", "task", "calls",
              "MFLOP", "MB", "schedules", "key");
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Task &task = tasks[i].task;
    int64_t calls = 0;
    for (int64_t each : tasks[i].calls)
      calls += each;
    double size =
        Space(task, compile.target, compile.schedule).log10Size(/*samples=*/50);
    std::printf("%3zu %-40s %5lld %10.2f %10.3f %7s%.1f  %s\n", i,
                task.label().substr(0, 40).c_str(),
                static_cast<long long>(calls), task.flops() / 1e6,
                task.bytes() / 1e6, "10^", size, task.key().c_str());
    list.push_back({{"key", task.key()},
                    {"label", task.label()},
                    {"kind", nameOf(task.kind)},
                    {"calls", tasks[i].calls},
                    {"flops", task.flops()},
                    {"bytes", task.bytes()},
                    {"log10_size", size}});
  }
  nlohmann::json report = newReport("tune");
  report["tasks"] = list;
  return writeReport(report, global.jsonPath);
}

/// Lets the language model write for all jobs together.
Status addProposals(std::vector<TuneJob> &jobs, const Options &options,
                    const CompileOptions &compile, int64_t trials) {
  // Beside the default schedule and the fixed one (TaskTuner.h).
  TLM_TRY(std::optional<ModelProposals> proposals,
          options.proposals.load({options.strategy},
                                 std::max<int64_t>(1, trials - 2),
                                 options.seed));
  if (!proposals)
    return success();
  std::vector<const Task *> tasks;
  for (const TuneJob &job : jobs)
    tasks.push_back(&job.task);
  std::vector<std::vector<Schedule>> written =
      proposals->of(tasks, compile.target, compile.schedule,
                    compile.jobs ? compile.jobs : usableCpus());
  for (size_t i = 0; i < jobs.size(); ++i)
    jobs[i].written = std::move(written[i]);
  return success();
}

Result<std::vector<TuneJob>> jobsOf(const std::vector<NetworkTask> &tasks,
                                    const Options &options,
                                    const CompileOptions &compile) {
  std::vector<TuneJob> jobs;
  for (const NetworkTask &entry : tasks) {
    double calls = 0;
    for (int64_t each : entry.calls)
      calls += double(each);
    jobs.push_back({entry.task, calls});
  }
  for (const std::string &path : options.also) {
    TLM_TRY(ScheduleFile file, ScheduleFile::read(path));
    for (TuneJob &job : jobs)
      if (const Schedule *schedule = file.find(job.task.key())) {
        TLM_TRY_STATUS(file.check(
            job.task.key(), Space(job.task, compile.target, compile.schedule)));
        job.given.push_back(*schedule);
      }
  }
  return jobs;
}

/// Tells Progress how far the budget is spent.
class Spending {
public:
  Spending(const GlobalOptions &global, const TuneBudget &budget, size_t tasks)
      : budget(budget), progress(global, totalOf(budget, tasks)) {}

  void afterRound(const NetworkTask &entry, const TaskTuner &tuner) {
    auto done = int64_t(tuner.result().trials.size());
    trials += tuner.lastTrials();
    double first = tuner.result().trials[0].measurement.minMicroseconds;
    char text[120];
    std::snprintf(text, sizeof text, "best %.2f us (%.3fx), last %.2f us",
                  tuner.fastestMicroseconds(),
                  tuner.fastestMicroseconds() > 0
                      ? first / tuner.fastestMicroseconds()
                      : 0,
                  tuner.lastMicroseconds());
    std::string task = entry.task.label() + ": " + text;
    if (budget.totalTrials > 0)
      progress.update(trials, "trials, " + task);
    else if (budget.seconds > 0)
      progress.update(int64_t(seconds()),
                      "s, " + std::to_string(trials) + " trials, " + task);
    else
      progress.update(before + std::min(done, budget.trialsPerTask),
                      "trials, " + task);
  }
  void afterTask() {
    before += budget.trialsPerTask;
    progress.clear();
  }

private:
  static int64_t totalOf(const TuneBudget &budget, size_t tasks) {
    if (budget.totalTrials > 0)
      return budget.totalTrials;
    if (budget.seconds > 0)
      return int64_t(std::ceil(budget.seconds));
    return int64_t(tasks) * budget.trialsPerTask;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  }

  const TuneBudget &budget;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  int64_t trials = 0, before = 0;
  Progress progress;
};

Status tune(const Options &options, const GlobalOptions &global) {
  const StrategyInfo &strategy = *strategyNamed(options.strategy);
  TLM_TRY(TuneBudget budget, budgetOf(options, strategy));
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  if (std::string missing = missingFeature(compile.target); !missing.empty())
    return makeError("what is tuned must run here, and this machine lacks " +
                         missing,
                     {}, ErrorCode::Machine);
  TLM_TRY(std::vector<NetworkTask> tasks, heaviestTasks(options));
  TLM_TRY(std::vector<TuneJob> jobs, jobsOf(tasks, options, compile));
  if (options.dryRun)
    return printTasks(tasks, compile, global);
  TLM_TRY_STATUS(addProposals(jobs, options, compile, budget.trialsPerTask));

  TuneOptions tuneOptions;
  tuneOptions.target = compile.target;
  tuneOptions.schedule = compile.schedule;
  tuneOptions.seed = options.seed;
  tuneOptions.jobs = compile.jobs ? compile.jobs : usableCpus();
  tuneOptions.finalists = options.finalists;
  tuneOptions.finalRounds = options.finalRounds;
  tuneOptions.measure.threads = int(compile.target.threads);
  std::printf("%zu tasks for %s, %lld threads, %s, %s\n", tasks.size(),
              compile.target.cpu.c_str(),
              static_cast<long long>(compile.target.threads),
              options.strategy.c_str(), budgetText(budget).c_str());
  printTuneHeader();
  TLM_TRY(RecordLogOptions logOptions,
          recordLogOptions(options.records, compile.target, options.strategy,
                           options.seed, global));
  std::vector<std::unique_ptr<RecordLog>> logs;
  std::vector<KnownSchedule> known;
  if (!options.records.empty()) {
    for (TuneJob &job : jobs) {
      TLM_TRY(RecordLog log, RecordLog::open(logOptions, job.task));
      logs.push_back(std::make_unique<RecordLog>(std::move(log)));
      job.log = logs.back().get();
    }
    TLM_TRY(known, knownSchedules(logOptions));
  }
  const std::atomic<bool> &stop = interruptFlag();
  std::vector<TuneResult> results(tasks.size());
  Status written = success();
  {
    Spending spending(global, budget, tasks.size());
    TuneEvents events;
    events.onRound = [&](size_t job, const TaskTuner &tuner) {
      spending.afterRound(tasks[job], tuner);
      return logs.empty() || logs[job]->status().ok();
    };
    events.onResult = [&](size_t job, const TuneResult &result) {
      spending.afterTask();
      printTuneRow(job, tasks[job], result);
      results[job] = result;
      // A run that is killed leaves what it has found.
      if (!options.output.empty() && written)
        written = writeFileAtomically(options.output,
                                      scheduleFileText(tasks, results));
    };
    tuneNetwork(jobs, strategy, tuneOptions, budget, std::move(known), stop,
                events);
  }
  TLM_TRY_STATUS(written);
  for (const std::unique_ptr<RecordLog> &log : logs)
    TLM_TRY_STATUS(log->status());
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < tasks.size(); ++i)
    list.push_back(tuneJson(tasks[i], results[i]));
  nlohmann::json report = newReport("tune");
  report["strategy"] = options.strategy;
  report["seed"] = options.seed;
  report["threads"] = compile.target.threads;
  report["tasks"] = list;
  report["stopped"] = stop.load();
  report["networks"] = printTuneTotals(options.paths, tasks, results);
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  if (stop)
    return makeError("stopped; what was measured until then is printed" +
                     std::string(options.output.empty() ? "" : " and written"));
  return success();
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
  app.add_option("--trials", options->trials,
                 "candidates a task (64; model and roller 12, transfer 16, "
                 "default 2)")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--total-trials", options->totalTrials,
                 "candidates over all tasks, where they gain most")
      ->check(CLI::Range(1, 100000000));
  app.add_option("--time-budget", options->timeBudget,
                 "end after so long, finals included: 90s; tasks get what they "
                 "gain most from")
      ->type_name("TIME");
  app.add_option("--early-stop", options->earlyStop,
                 "leave a task after so many candidates without a faster one")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--heaviest", options->heaviest,
                 "tune only so many tasks, those with most work")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--also", options->also,
                 "files of schedules that are measured first, and in the final")
      ->type_name("FILE");
  app.add_option("--finalists", options->finalists,
                 "fastest candidates that are measured again, in turn")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--final-rounds", options->finalRounds,
                 "times that they are; 0: they are not")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_flag("--dry-run", options->dryRun, "only list the tasks");
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
  options->proposals.add(app);
  options->compile.add(app);
  return [options, &global] { return tune(*options, global); };
}

} // namespace tlm
