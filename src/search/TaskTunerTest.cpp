#include "search/NetworkTuner.h"

#include "lower/KernelCase.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

const std::atomic<bool> kGoOn{false};

TuneOptions quickly(int64_t threads = 2) {
  TuneOptions options;
  options.target = hostTarget();
  options.target.threads = threads;
  options.batch = 8;
  options.measure.timing.seconds = 0.002;
  return options;
}

class MapLog : public TrialLog {
public:
  std::optional<Measurement> find(const Schedule &schedule,
                                  int32_t rounds) override {
    for (const Trial &trial : known)
      if (trial.schedule == schedule && trial.measurement.rounds >= rounds)
        return trial.measurement;
    return std::nullopt;
  }
  void add(const std::vector<Trial> &trials) override {
    ++calls;
    known.insert(known.end(), trials.begin(), trials.end());
  }
  std::vector<Trial> known; ///< the oldest first
  size_t calls = 0;
};

std::vector<TuneJob> someJobs() {
  return {{ConvCase{.c = 64, .f = 64, .h = 14, .w = 14}.residual().task(), 3},
          {PoolCase{.c = 64, .h = 28, .w = 28}.task(), 1}};
}

void expectSound(const TuneResult &result) {
  EXPECT_EQ(result.trials[0].schedule, result.defaultSchedule);
  for (const Trial &trial : result.trials)
    EXPECT_TRUE(trial.measurement.isOk() ||
                trial.measurement.outcome == Outcome::CutOff)
        << trial.schedule.text() << nameOf(trial.measurement.outcome) << ' '
        << trial.measurement.detail;
  EXPECT_GT(result.bestMicroseconds, 0);
  EXPECT_LE(result.bestMicroseconds, result.defaultMicroseconds);
  EXPECT_GT(result.fixedMicroseconds, 0);
}

} // namespace

TEST(TaskTuner, FindsNothingSlowerThanTheDefault) {
  Task task = someJobs()[0].task;
  TuneOptions options = quickly();
  Schedule given;
  {
    Space space(task, options.target);
    Random random(4);
    given = space.sample(random);
  }
  TaskContext context;
  context.given = {given};
  TaskTuner tuner(task, *strategyNamed("evolutionary"), options, context);
  int64_t trials = 0;
  while (int64_t done = tuner.round(12 - trials))
    if ((trials += done) == 12)
      break;
  EXPECT_EQ(trials, 12);
  tuner.finish();
  const TuneResult &result = tuner.result();
  expectSound(result);
  EXPECT_EQ(result.trials.size(), 12u);
  EXPECT_EQ(result.trials[2].schedule, given);
  auto isGiven = [&](const Finalist &each) { return each.schedule == given; };
  auto found =
      std::find_if(result.finalists.begin(), result.finalists.end(), isGiven);
  ASSERT_NE(found, result.finalists.end());
  EXPECT_EQ(found->microseconds.size(), size_t(options.finalRounds));
}

// What another search has tried is no trial again, and the strategy knows it.
TEST(TaskTuner, TriesNothingThatWasObserved) {
  Task task = someJobs()[0].task;
  TuneOptions options = quickly();
  Space space(task, options.target);
  KnownLeaves known;
  Random random(6);
  std::vector<Schedule> written;
  while (written.size() < 8 && known.drawNew(space, random, written))
    ;
  ASSERT_EQ(written.size(), 8u);
  std::vector<Trial> observed;
  for (size_t i = 0; i < 3; ++i)
    observed.push_back({written[i], Measurement(), int64_t(i)});
  TaskContext context;
  context.written = written;
  context.observed = observed;
  TaskTuner tuner(task, *strategyNamed("model"), options, context);
  while (tuner.round(100))
    ;
  const std::vector<Trial> &trials = tuner.result().trials;
  ASSERT_EQ(trials.size(), 7u); // the default, the fixed and five of these
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(trials[i + 2].schedule, written[i + 3]);
}

// A space with few leaves ends the search before the budget does.
TEST(TaskTuner, EndsWithTheSpace) {
  Task task = ConvCase{.c = 16, .f = 16, .h = 1, .w = 1}.task();
  TuneOptions options = quickly(1);
  options.measure.timing.seconds = 0.0005;
  Space space(task, options.target);
  if (space.log10Size() > 2.5)
    GTEST_SKIP() << "10^" << space.log10Size() << " leaves";
  TaskTuner tuner(task, *strategyNamed("random"), options);
  while (tuner.round(100000))
    ASSERT_LT(tuner.result().trials.size(), 400u);
}

// What the log knows is not measured again, the final included, and the search
// goes the same way; one that was stopped is taken up where it was.
TEST(TaskTuner, TakesUpWhatTheLogKnows) {
  Task task = someJobs()[0].task;
  MapLog log;
  TuneOptions options = quickly();
  options.batch = 4;
  options.finalists = 2;
  options.finalRounds = 2;
  auto tune = [&](int64_t trials) {
    TaskContext context;
    context.log = &log;
    TaskTuner tuner(task, *strategyNamed("evolutionary"), options, context);
    for (int64_t left = trials; left > 0;)
      left -= tuner.round(left);
    tuner.finish();
    return tuner.result();
  };
  TuneResult first = tune(12);
  EXPECT_EQ(first.remembered, 0);
  EXPECT_EQ(log.calls, first.trials.size() + 1); // one by one, and the final
  EXPECT_GT(log.known.size(), first.trials.size());

  TuneResult again = tune(12);
  EXPECT_EQ(log.calls, first.trials.size() + 1);
  EXPECT_EQ(again.remembered, int64_t(first.trials.size()));
  EXPECT_EQ(again.bestSchedule, first.bestSchedule);
  EXPECT_EQ(again.bestMicroseconds, first.bestMicroseconds);

  TuneResult longer = tune(16);
  EXPECT_EQ(longer.remembered, 12);
  ASSERT_EQ(longer.trials.size(), 16u);
  for (size_t i = 0; i < longer.trials.size(); ++i)
    EXPECT_EQ(longer.trials[i].number, int64_t(i));
}

TEST(NetworkTuner, TrialsForEachTask) {
  TuneBudget budget;
  budget.trialsPerTask = 6;
  std::vector<size_t> finished;
  TuneEvents events;
  events.onResult = [&](size_t job, const TuneResult &) {
    finished.push_back(job);
  };
  std::vector<TuneResult> results =
      tuneNetwork(someJobs(), *strategyNamed("transfer"), quickly(), budget, {},
                  kGoOn, events);
  ASSERT_EQ(results.size(), 2u);
  for (const TuneResult &result : results) {
    expectSound(result);
    EXPECT_EQ(result.trials.size(), 6u);
  }
  EXPECT_EQ(finished, (std::vector<size_t>{0, 1}));
}

TEST(NetworkTuner, ATotalOfTrials) {
  TuneBudget budget;
  budget.totalTrials = 20;
  budget.trialsPerTask = 1000;
  std::vector<TuneResult> results = tuneNetwork(
      someJobs(), *strategyNamed("random"), quickly(), budget, {}, kGoOn);
  size_t trials = 0;
  for (const TuneResult &result : results) {
    expectSound(result);
    trials += result.trials.size();
  }
  EXPECT_EQ(trials, 20u);
}

// A task that the time did not reach has no trials.
TEST(NetworkTuner, ATimeEndsIt) {
  TuneBudget budget;
  budget.seconds = 1;
  budget.trialsPerTask = 1000000;
  auto begin = std::chrono::steady_clock::now();
  std::vector<TuneResult> results = tuneNetwork(
      someJobs(), *strategyNamed("random"), quickly(), budget, {}, kGoOn);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  EXPECT_LT(seconds, 20); // about 2 on a quiet machine
  expectSound(results[0]);
  if (!results[1].trials.empty())
    expectSound(results[1]);
}

// Stopped in the first round: its trials are the result, and unfinished tasks
// have none.
TEST(NetworkTuner, StopsWithWhatThereIs) {
  std::atomic<bool> stop{false};
  TuneEvents events;
  events.onRound = [&](size_t, const TaskTuner &) { return stop = true; };
  std::vector<TuneResult> results = tuneNetwork(
      someJobs(), *strategyNamed("random"), quickly(), {}, {}, stop, events);
  EXPECT_EQ(results[0].trials.size(), 2u);
  EXPECT_TRUE(results[0].finalists.empty());
  EXPECT_GT(results[0].bestMicroseconds, 0);
  EXPECT_LE(results[0].bestMicroseconds, results[0].defaultMicroseconds);
  EXPECT_TRUE(results[1].trials.empty());
}

TEST(NetworkTuner, AnEarlyStop) {
  TuneBudget budget;
  budget.trialsPerTask = 100000;
  budget.earlyStop = 10;
  std::vector<TuneJob> jobs = {someJobs()[1]};
  std::vector<TuneResult> results =
      tuneNetwork(jobs, *strategyNamed("random"), quickly(), budget, {}, kGoOn);
  expectSound(results[0]);
  EXPECT_LT(results[0].trials.size(), 1000u);
}
