#include "search/SearchTestLandscape.h"

#include "search/CostModel.h"
#include "search/TaskDistance.h"
#include "space/ScheduleChecker.h"
#include "space/SpaceTestTasks.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

Target testTarget(int64_t threads = 4) {
  Target target = *targetFor("x86-64-v4");
  target.threads = threads;
  return target;
}

std::vector<KnownSchedule> knownOf(const std::vector<Task> &tasks,
                                   const Target &target) {
  std::vector<KnownSchedule> known;
  Random random(17);
  for (const Task &task : tasks) {
    Space space(task, target);
    for (int i = 0; i < 4; ++i)
      known.push_back({task, space.sample(random), 10.0 + i});
  }
  return known;
}

std::vector<Schedule> writtenFor(const Space &space, uint64_t seed) {
  KnownLeaves known;
  Random random(seed);
  std::vector<Schedule> written;
  while (written.size() < 20 && known.drawNew(space, random, written))
    ;
  return written;
}

/// The mean over tasks and seeds of log(time of `other` / time of `info`) after
/// `trials`.
double logGain(std::string_view info, std::string_view other, size_t trials,
               const std::vector<int> &places) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  double sum = 0;
  int count = 0;
  for (int place : places)
    for (uint64_t seed = 1; seed <= 3; ++seed, ++count) {
      const Task &task = tasks[size_t(place)];
      Space space(task, target);
      SearchInput input{task, target, space, {}, seed};
      Landscape landscape(space, seed + 10);
      auto last = [&](std::string_view name) {
        return searchLandscape(*strategyNamed(name), input, landscape, trials)
            .back();
      };
      sum += std::log(last(other) / last(info));
    }
  return sum / count;
}

/// Convolutions, Winograd among them, depthwise, matrices and attention.
const std::vector<int> kLargeSpaces = {0, 1, 2, 6, 13, 17};

} // namespace

TEST(Strategy, ProposalsAreLegalForEveryTask) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  std::vector<KnownSchedule> known = knownOf(tasks, target);
  for (const Task &task : tasks) {
    Space space(task, target);
    Landscape landscape(space, 1);
    std::vector<Schedule> written = writtenFor(space, 3);
    for (const StrategyInfo &info : strategies()) {
      std::unique_ptr<Strategy> strategy =
          info.make({task, target, space, {}, 3, known, nullptr, written});
      KnownLeaves seen;
      for (int round = 0; round < 3; ++round)
        for (const Schedule &schedule : strategy->propose(8)) {
          Status status = space.check(schedule);
          EXPECT_TRUE(status)
              << info.name << ' ' << task.label() << status.error().message;
          EXPECT_EQ(checkSchedule(task, target, schedule), "")
              << info.name << ' ' << task.label();
          EXPECT_TRUE(seen.insert(schedule)) << info.name << " repeats itself";
          strategy->observe(schedule, landscape.measure(schedule));
        }
    }
  }
}

TEST(Strategy, SameSeedSameProposals) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  std::vector<KnownSchedule> known = knownOf(tasks, target);
  Space space(tasks[2], target);
  Landscape landscape(space, 5);
  for (const StrategyInfo &info : strategies()) {
    auto proposals = [&](uint64_t seed) {
      std::vector<Schedule> written = writtenFor(space, seed);
      std::unique_ptr<Strategy> strategy = info.make(
          {tasks[2], target, space, {}, seed, known, nullptr, written});
      std::vector<Schedule> all;
      for (int round = 0; round < 3; ++round)
        for (Schedule &schedule : strategy->propose(12)) {
          strategy->observe(schedule, landscape.measure(schedule));
          all.push_back(std::move(schedule));
        }
      return all;
    };
    EXPECT_EQ(proposals(9), proposals(9)) << info.name;
    if (info.name != "default" && info.name != "roller")
      EXPECT_NE(proposals(9), proposals(10)) << info.name;
  }
}

// Failures, and tasks of which nothing could be measured, stop no strategy.
TEST(Strategy, GoesOnWhenEverythingFails) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  Space space(tasks[0], target);
  for (std::string_view name :
       {"evolutionary", "metaschedule", "random", "transfer"}) {
    std::unique_ptr<Strategy> strategy =
        strategyNamed(name)->make({tasks[0], target, space});
    for (int round = 0; round < 4; ++round) {
      std::vector<Schedule> proposed = strategy->propose(8);
      EXPECT_EQ(proposed.size(), 8u) << name;
      for (const Schedule &schedule : proposed) {
        Measurement crash;
        crash.outcome = Outcome::Crashed;
        strategy->observe(schedule, crash);
      }
    }
  }
}

TEST(Evolutionary, BeatsRandomAtEqualTrials) {
  double gain = logGain("evolutionary", "random", 64, kLargeSpaces);
  EXPECT_GT(gain, std::log(1.02)) << std::exp(gain);
}

TEST(MetaSchedule, BeatsRandomAtEqualTrials) {
  double gain = logGain("metaschedule", "random", 64, kLargeSpaces);
  EXPECT_GT(gain, std::log(1.02)) << std::exp(gain);
}

// Ten trials each, the default schedule among them. The landscape knows one
// product and the chunks that decisions make: no batch, no heads.
TEST(Roller, TenTrialsBeatTenRandomOnes) {
  double gain = logGain("roller", "random", 10, {0, 2, 13});
  EXPECT_GT(gain, std::log(1.01)) << std::exp(gain);
}

// What one task has taught is of use to another from its first round on.
TEST(Evolutionary, LearnsFromTheTaskBefore) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  const StrategyInfo &info = *strategyNamed("evolutionary");
  double sum = 0;
  int count = 0;
  for (auto [before, after] : {std::pair{2, 0}, {0, 2}, {1, 2}, {13, 0}})
    for (uint64_t seed = 1; seed <= 4; ++seed, ++count) {
      const Task &first = tasks[size_t(before)], &second = tasks[size_t(after)];
      Space firstSpace(first, target), space(second, target);
      Landscape firstLandscape(firstSpace, seed + 3),
          landscape(space, seed + 3);
      auto last = [&](CostModel *model) {
        return searchLandscape(info,
                               {second, target, space, {}, seed, {}, model},
                               landscape, 12, 11)
            .back();
      };
      CostModel model;
      searchLandscape(info, {first, target, firstSpace, {}, seed, {}, &model},
                      firstLandscape, 64);
      sum += std::log(last(nullptr) / last(&model));
    }
  EXPECT_GT(sum / count, std::log(1.02)) << std::exp(sum / count);
}

TEST(Model, ProposesWhatIsWrittenThenNothing) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  Space space(tasks[2], target);
  std::vector<Schedule> written = writtenFor(space, 4), proposed;
  ASSERT_EQ(written.size(), 20u);
  std::unique_ptr<Strategy> strategy = strategyNamed("model")->make(
      {tasks[2], target, space, {}, 1, {}, nullptr, written});
  for (size_t count : {7u, 7u, 6u}) {
    std::vector<Schedule> some = strategy->propose(7);
    EXPECT_EQ(some.size(), count);
    proposed.insert(proposed.end(), some.begin(), some.end());
  }
  EXPECT_EQ(proposed, written);
  EXPECT_TRUE(strategy->propose(1).empty());
  EXPECT_TRUE(strategyNamed("model")
                  ->make({tasks[2], target, space})
                  ->propose(1)
                  .empty());
}

TEST(Transfer, ProposesTheNearestTasksBestFirst) {
  std::vector<Task> tasks = spaceTestTasks();
  Target target = testTarget();
  const Task &task = tasks[2];
  Task near = task, far = task;
  for (auto [other, channels] : {std::pair{&near, 128}, {&far, 1024}}) {
    for (Operand &operand : other->operands)
      if (operand.role == Role::Weight)
        operand.type.dims[0] = channels;
      else if (operand.role == Role::Bias)
        operand.type.dims[0] = channels;
      else if (operand.role == Role::Output)
        operand.type.dims[1] = operand.type.channelStride = channels;
    ASSERT_EQ(other->verify(), "");
  }
  EXPECT_LT(taskDistance(task, near), taskDistance(task, far));
  EXPECT_EQ(taskDistance(task, task), 0);
  EXPECT_TRUE(std::isinf(taskDistance(task, tasks[13])));

  Random random(2);
  Schedule slow = Space(near, target).sample(random),
           fast = Space(near, target).sample(random),
           other = Space(far, target).sample(random);
  std::vector<KnownSchedule> known = {
      {far, other, 1}, {near, slow, 9}, {near, fast, 5}};
  Space space(task, target);
  std::vector<Schedule> proposed =
      strategyNamed("transfer")
          ->make({task, target, space, {}, 1, known})
          ->propose(3);
  ASSERT_EQ(proposed.size(), 3u);
  EXPECT_EQ(proposed[0], nearest(space, fast));
  EXPECT_EQ(proposed[1], nearest(space, slow));
  EXPECT_EQ(proposed[2], nearest(space, other));
}
