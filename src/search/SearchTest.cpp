#include "search/TaskTuner.h"
#include "search/Variation.h"

#include "lower/KernelCase.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

Target host() {
  Target target = hostTarget();
  target.threads = 2;
  return target;
}

std::vector<Task> tasks() {
  return {
      ConvCase{.c = 64, .f = 96, .h = 28, .w = 28, .k = 3, .pad = 1}
          .relu()
          .task(),
      ConvCase{.c = 64, .f = 64, .h = 14, .w = 14}.residual().task(),
      ConvCase{.c = 96,
               .f = 96,
               .h = 14,
               .w = 14,
               .k = 3,
               .pad = 1,
               .groups = 96,
               .depthwise = true}
          .task(),
      MatMulCase{.m = 128, .k = 256, .n = 320}.task(),
      PoolCase{.c = 64, .h = 28, .w = 28}.task(),
  };
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
    ++batches;
    known.insert(known.end(), trials.begin(), trials.end());
  }
  std::vector<Trial> known; ///< the oldest first
  int batches = 0;
};

} // namespace

TEST(Variation, ChildrenAreLeavesThatDiffer) {
  for (const Task &task : tasks()) {
    Space space(task, host());
    Random random(3);
    Schedule a = space.sample(random), b = space.sample(random);
    for (int i = 0; i < 300; ++i) {
      Schedule child = mutate(space, a, random);
      EXPECT_TRUE(space.check(child)) << child.text();
      EXPECT_NE(child.text(), a.text());
      Schedule mixed = cross(space, a, b, random);
      EXPECT_TRUE(space.check(mixed)) << mixed.text();
      a = child;
    }
    EXPECT_EQ(nearest(space, a), a);
  }
}

TEST(Variation, MostDecisionsStay) {
  Task task = tasks()[0];
  Space space(task, host());
  Random random(5);
  Schedule parent = space.sample(random);
  size_t changed = 0;
  for (int i = 0; i < 200; ++i) {
    Schedule child = mutate(space, parent, random);
    for (const Choice &choice : parent.choices)
      changed += child.get(choice.decision, choice.subject, -1) != choice.value;
  }
  EXPECT_LT(double(changed) / 200, double(parent.choices.size()) / 2);
}

TEST(Strategy, SameSeedSameProposals) {
  Task task = tasks()[0];
  Space space(task, host());
  for (const StrategyInfo &info : strategies()) {
    auto a = info.make(space, 9), b = info.make(space, 9);
    for (int round = 0; round < 4; ++round) {
      std::vector<Schedule> left = a->propose(16), right = b->propose(16);
      ASSERT_EQ(left, right) << info.name;
      double time = 100;
      for (const Schedule &schedule : left) {
        EXPECT_TRUE(space.check(schedule));
        Measurement measurement;
        measurement.minMicroseconds = time -= 1;
        a->observe(schedule, measurement);
        b->observe(schedule, measurement);
      }
    }
  }
}

TEST(TaskTuner, FindsNothingSlowerThanTheDefault) {
  Task task = tasks()[1];
  TuneOptions options;
  options.target = host();
  options.trials = 12;
  options.batch = 8;
  options.measure.timing.seconds = 0.002;
  TuneResult result = tuneTask(task, strategies()[0], options);
  EXPECT_EQ(result.trials.size(), 12u);
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

// A space with few leaves ends the search before the budget does.
TEST(TaskTuner, EndsWithTheSpace) {
  Task task = ConvCase{.c = 16, .f = 16, .h = 1, .w = 1}.task();
  TuneOptions options;
  options.target = host();
  options.target.threads = 1;
  options.trials = 100000;
  options.measure.timing.seconds = 0.0005;
  Space space(task, options.target);
  if (space.log10Size() > 2.5)
    GTEST_SKIP() << "10^" << space.log10Size() << " leaves";
  TuneResult result = tuneTask(task, strategies()[1], options);
  EXPECT_LT(result.trials.size(), 400u);
}

// What the log knows is not measured again, the final included, and the search
// goes the same way; one that was stopped is taken up where it was.
TEST(TaskTuner, TakesUpWhatTheLogKnows) {
  Task task = tasks()[1];
  MapLog log;
  TuneOptions options;
  options.target = host();
  options.trials = 12;
  options.batch = 4;
  options.finalists = 2;
  options.finalRounds = 2;
  options.log = &log;
  options.measure.timing.seconds = 0.002;
  const StrategyInfo &strategy = strategies()[0];
  TuneResult first = tuneTask(task, strategy, options);
  EXPECT_EQ(first.remembered, 0);
  EXPECT_EQ(log.batches, 5); // 2 fixed candidates, 4, 4, 2, and the final
  EXPECT_GT(log.known.size(), first.trials.size());

  TuneResult again = tuneTask(task, strategy, options);
  EXPECT_EQ(log.batches, 5);
  EXPECT_EQ(again.remembered, int64_t(first.trials.size()));
  EXPECT_EQ(again.bestSchedule, first.bestSchedule);
  EXPECT_EQ(again.bestMicroseconds, first.bestMicroseconds);

  options.trials = 16;
  TuneResult longer = tuneTask(task, strategy, options);
  EXPECT_EQ(longer.remembered, 12);
  ASSERT_EQ(longer.trials.size(), 16u);
  for (size_t i = 0; i < longer.trials.size(); ++i)
    EXPECT_EQ(longer.trials[i].number, int64_t(i));
}
