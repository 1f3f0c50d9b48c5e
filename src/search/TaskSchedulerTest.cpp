#include "search/TaskScheduler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace tlm;

namespace {

/// A task whose best time falls from `begin` to `end`, half way every `half`
/// rounds.
struct Curve {
  double begin, end, half;
  double at(double rounds) const {
    return end + (begin - end) * std::pow(0.5, rounds / half);
  }
};

std::vector<int> spend(TaskScheduler &scheduler,
                       const std::vector<Curve> &curves, int rounds) {
  std::vector<int> counts(curves.size());
  for (int i = 0; i < rounds; ++i) {
    std::optional<size_t> task = scheduler.next();
    EXPECT_TRUE(task);
    scheduler.observe(*task, curves[*task].at(++counts[*task]));
  }
  return counts;
}

} // namespace

TEST(TaskScheduler, EveryTaskHasARoundFirst) {
  TaskScheduler scheduler(std::vector<ScheduledTask>(5), 1);
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(scheduler.next(), i);
    scheduler.observe(i, i == 2 ? 0 : 10);
  }
}

// 100 us, beside 30 us for the same work, and beside a task of 1 us.
TEST(TaskScheduler, LaggardsAndLargeTasksFirst) {
  std::vector<ScheduledTask> tasks = {{1, 1e6, 0}, {1, 1e6, 0}, {1, 1e4, 1}};
  TaskScheduler scheduler(tasks, 1);
  std::vector<int> counts =
      spend(scheduler, {{100, 90, 8}, {30, 29, 8}, {1, 0.5, 8}}, 40);
  EXPECT_GT(counts[0], 20);
  EXPECT_LE(counts[2], 4);
}

// Of equal times, the one that has been falling.
TEST(TaskScheduler, WhatFallsGoesOn) {
  TaskScheduler scheduler({{1, 1e6, 0}, {1, 1e6, 1}}, 1);
  scheduler.observe(0, 100);
  scheduler.observe(1, 180);
  scheduler.observe(0, 100);
  scheduler.observe(1, 100);
  int falling = 0;
  for (int i = 0; i < 40; ++i)
    falling += *scheduler.next() == 1;
  EXPECT_GT(falling, 35);
}

TEST(TaskScheduler, WeightsCount) {
  std::vector<ScheduledTask> tasks = {{8, 1e6, 0}, {1, 1e6, 1}};
  TaskScheduler scheduler(tasks, 1);
  std::vector<int> counts = spend(scheduler, {{50, 40, 5}, {50, 40, 5}}, 40);
  EXPECT_GT(counts[0], 2 * counts[1]);
}

// A task with no schedule at all must not eat the budget (TVM's scheduler did).
TEST(TaskScheduler, FailuresHoldUpNobody) {
  TaskScheduler scheduler({{100, 1e9, 0}, {1, 1e6, 0}}, 1);
  std::vector<int> counts(2);
  for (int i = 0; i < 40; ++i) {
    size_t task = *scheduler.next();
    ++counts[task];
    scheduler.observe(task, task == 0 ? 0 : 10);
  }
  EXPECT_LT(counts[0], 5);
  scheduler.retire(1);
  EXPECT_EQ(scheduler.next(), size_t(0));
  scheduler.retire(0);
  EXPECT_EQ(scheduler.next(), std::nullopt);
}

TEST(TaskScheduler, SameSeedSameOrder) {
  auto order = [](uint64_t seed) {
    TaskScheduler scheduler(std::vector<ScheduledTask>(4), seed);
    std::vector<size_t> tasks;
    for (int i = 0; i < 60; ++i) {
      tasks.push_back(*scheduler.next());
      scheduler.observe(tasks.back(), 10 + double(tasks.back()));
    }
    return tasks;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}
