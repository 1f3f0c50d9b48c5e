#include "search/Features.h"
#include "search/Strategy.h"
#include "space/DefaultSchedule.h"
#include "space/KernelEstimate.h"
#include "space/SpaceTestTasks.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

namespace {
Target testTarget(int64_t threads = 1) {
  Target target = *targetFor("x86-64-v4");
  target.threads = threads;
  return target;
}
} // namespace

TEST(KernelEstimate, IsFiniteAndPositiveEverywhere) {
  for (const Task &task : spaceTestTasks()) {
    Target target = testTarget(4);
    Space space(task, target);
    Random random(1);
    for (int i = 0; i < 40; ++i) {
      Schedule schedule = space.sample(random);
      KernelEstimate e = estimateKernel(task, target, schedule);
      EXPECT_TRUE(std::isfinite(e.microseconds) && e.microseconds > 0)
          << task.label() << '\n'
          << schedule.text();
      EXPECT_GE(e.imbalance, 1) << schedule.text();
      EXPECT_GE(e.chunks, 1) << schedule.text();
      EXPECT_EQ(featuresOf(task, target, schedule).size(),
                featureNames().size());
    }
  }
}

// 64 filters of 14x14 pixels over 64 channels: 196 * 7 products a step.
TEST(KernelEstimate, CountsAConvolutionExactly) {
  Task task = spaceTestTasks()[0];
  Target target = testTarget();
  Schedule schedule = defaultSchedule(task, target);
  schedule.set(Decision::RegisterRow, "f", 1);
  schedule.set(Decision::RegisterTile, "w", 14);
  schedule.set(Decision::ParallelTile, "rows", 196);
  schedule.set(Decision::ParallelTile, "f", 7);
  KernelEstimate e = estimateKernel(task, target, schedule);
  EXPECT_EQ(e.vectorOperations, 196 * 7 * 64);
  EXPECT_EQ(e.steps, 14 * 7 * 64);
  EXPECT_EQ(e.registers, 14 + 2);
  EXPECT_EQ(e.registerTraffic, 14 * 7 * 64 * 4 * (16 + 14));
  EXPECT_EQ(e.panelBytes, 4 * 64 * 16);
  EXPECT_EQ(e.chunks, 1);
  // Seven vectors in a row read each pixel once, and no less.
  schedule.set(Decision::RegisterRow, "f", 7);
  schedule.set(Decision::RegisterTile, "w", 2);
  schedule.set(Decision::ParallelTile, "f", 1);
  KernelEstimate wide = estimateKernel(task, target, schedule);
  EXPECT_EQ(wide.vectorOperations, e.vectorOperations);
  EXPECT_EQ(wide.steps, 98 * 64);
  EXPECT_EQ(wide.registerTraffic, 98 * 64 * 4 * (7 * 16 + 2));
}

TEST(KernelEstimate, UnevenChunksCost) {
  Task task = spaceTestTasks()[2];
  Target target = testTarget(4);
  Schedule schedule = defaultSchedule(task, target);
  schedule.set(Decision::Algorithm, "", int64_t(Algorithm::Direct));
  schedule.set(Decision::ParallelTile, "f", 100);
  schedule.set(Decision::MaxParallelism, "", 4);
  schedule.set(Decision::ParallelTile, "rows", 14);
  KernelEstimate even = estimateKernel(task, target, schedule);
  schedule.set(Decision::ParallelTile, "rows", 28);
  KernelEstimate idle = estimateKernel(task, target, schedule);
  EXPECT_EQ(even.chunks, 4);
  EXPECT_EQ(idle.workers, 2);
  EXPECT_LT(even.microseconds, idle.microseconds);
}

TEST(Roller, TilesAreFullAndGoodByTheModel) {
  for (int place : {0, 1, 2, 13}) {
    Task task = spaceTestTasks()[size_t(place)];
    Target target = testTarget(4);
    Space space(task, target);
    std::vector<Schedule> tiles =
        strategyNamed("roller")->make({task, target, space})->propose(10);
    ASSERT_GE(tiles.size(), 5u) << task.label();
    double first = estimateKernel(task, target, tiles[0]).microseconds;
    for (const Schedule &tile : tiles) {
      KernelEstimate e = estimateKernel(task, target, tile);
      EXPECT_GE(e.microseconds, first) << tile.text();
      EXPECT_LE(e.microseconds, 1.5 * first) << tile.text();
      EXPECT_LE(e.registers, double(target.vectorRegisters)) << tile.text();
      EXPECT_GE(e.registers, 8) << tile.text();
      EXPECT_LT(e.imbalance, 1.5) << tile.text();
    }
    // The construction finds what thousands of draws do not.
    Random random(1);
    double drawn = INFINITY;
    for (int i = 0; i < 2000; ++i)
      drawn = std::min(
          drawn,
          estimateKernel(task, target, space.sample(random)).microseconds);
    EXPECT_LE(estimateKernel(task, target, tiles[0]).microseconds, 1.02 * drawn)
        << task.label();
  }
}
