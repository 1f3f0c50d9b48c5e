#include "search/NetworkTuner.h"

#include "search/TaskScheduler.h"

#include <algorithm>
#include <chrono>

using namespace tlm;
using Clock = std::chrono::steady_clock;

namespace {

class Session {
public:
  Session(const std::vector<TuneJob> &jobs, const StrategyInfo &strategy,
          const TuneOptions &options, const TuneBudget &budget,
          std::vector<KnownSchedule> known, const std::atomic<bool> &stop,
          const TuneEvents &events)
      : jobs(jobs), strategy(strategy), options(options), budget(budget),
        known(std::move(known)), stop(stop), events(events),
        results(jobs.size()) {}

  std::vector<TuneResult> run() {
    if (budget.isShared())
      share();
    else
      inTurn();
    return std::move(results);
  }

private:
  std::unique_ptr<TaskTuner> makeTuner(size_t job) {
    return std::make_unique<TaskTuner>(jobs[job].task, strategy, options,
                                       TaskContext{.known = known,
                                                   .model = &model,
                                                   .given = jobs[job].given,
                                                   .written = jobs[job].written,
                                                   .log = jobs[job].log});
  }
  /// Whether the task may go on.
  bool round(size_t job, TaskTuner &tuner, int64_t most) {
    int64_t left = budget.trialsPerTask - int64_t(tuner.result().trials.size());
    int64_t done = left > 0 ? tuner.round(std::min(left, most)) : 0;
    trials += done;
    if (done > 0 && events.onRound && !events.onRound(job, tuner))
      ended = true;
    bool idle =
        budget.earlyStop > 0 && tuner.trialsWithoutGain() >= budget.earlyStop;
    return done > 0 && done < left && !idle;
  }
  void finish(size_t job, TaskTuner &tuner) {
    if (isEnded())
      tuner.finishUnmeasured();
    else
      tuner.finish();
    results[job] = tuner.takeResult();
    if (events.onResult)
      events.onResult(job, results[job]);
  }
  void inTurn();
  void share();
  bool isEnded() const { return stop || ended; }
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  const std::vector<TuneJob> &jobs;
  const StrategyInfo &strategy;
  const TuneOptions &options;
  const TuneBudget &budget;
  std::vector<KnownSchedule> known;
  const std::atomic<bool> &stop;
  const TuneEvents &events;
  std::vector<TuneResult> results;
  CostModel model;
  int64_t trials = 0;
  bool ended = false;
  Clock::time_point begin = Clock::now();
};

} // namespace

void Session::inTurn() {
  for (size_t job = 0; job < jobs.size() && !isEnded(); ++job) {
    std::unique_ptr<TaskTuner> tuner = makeTuner(job);
    while (!isEnded() && round(job, *tuner, budget.trialsPerTask))
      ;
    finish(job, *tuner);
    const TuneResult &result = results[job];
    tuner.reset();
    if (result.bestMicroseconds > 0)
      known.push_back(
          {jobs[job].task, result.bestSchedule, result.bestMicroseconds});
  }
}

void Session::share() {
  std::vector<std::unique_ptr<TaskTuner>> tuners;
  std::vector<ScheduledTask> tasks;
  for (size_t job = 0; job < jobs.size(); ++job) {
    const Task &task = jobs[job].task;
    double flops = task.flops();
    tasks.push_back(
        {jobs[job].weight, flops > 0 ? flops : task.bytes(), int(task.kind)});
    tuners.push_back(makeTuner(job));
  }
  TaskScheduler scheduler(tasks, options.seed);
  // What the finals will take, by what a trial has taken so far.
  auto finalSeconds = [&] {
    double kernels = double(jobs.size()) * double(options.finalists + 2);
    double runs = kernels * double(options.finalRounds);
    double building = 0, measuring = 0;
    for (const auto &tuner : tuners) {
      building += tuner->result().buildSeconds;
      measuring += tuner->result().measureSeconds;
    }
    // A run of the final has no check; half of a trial's time is one.
    return trials > 0
               ? (kernels * building + runs * 0.5 * measuring) / double(trials)
               : 0.0;
  };
  while (!isEnded()) {
    int64_t left = budget.totalTrials > 0 ? budget.totalTrials - trials
                                          : budget.trialsPerTask;
    if (left <= 0 ||
        (budget.seconds > 0 && seconds() + finalSeconds() >= budget.seconds))
      break;
    std::optional<size_t> job = scheduler.next();
    if (!job)
      break;
    bool more = round(*job, *tuners[*job], left);
    scheduler.observe(*job, tuners[*job]->fastestMicroseconds());
    if (!more)
      scheduler.retire(*job);
  }
  for (size_t job = 0; job < jobs.size(); ++job)
    if (!tuners[job]->result().trials.empty())
      finish(job, *tuners[job]);
}

std::vector<TuneResult>
tlm::tuneNetwork(const std::vector<TuneJob> &jobs, const StrategyInfo &strategy,
                 const TuneOptions &options, const TuneBudget &budget,
                 std::vector<KnownSchedule> known,
                 const std::atomic<bool> &stop, const TuneEvents &events) {
  return Session(jobs, strategy, options, budget, std::move(known), stop,
                 events)
      .run();
}
