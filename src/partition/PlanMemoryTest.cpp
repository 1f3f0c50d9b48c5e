//===- PlanMemoryTest.cpp -------------------------------------------------===//

#include "partition/Lifetimes.h"

#include <gtest/gtest.h>

#include <random>

using namespace tlm;

/// A plan of arena buffers only; step i touches the given buffers.
static Plan planOf(const std::vector<BufferType> &types,
                   const std::vector<std::vector<int32_t>> &steps) {
  Plan plan;
  for (const BufferType &type : types)
    plan.buffers.push_back({.type = type, .value = 0});
  for (const std::vector<int32_t> &operands : steps)
    plan.steps.push_back({0, operands, ""});
  planMemory(plan, 1);
  return plan;
}

static BufferType vectorOf(int64_t floats) { return {.dims = {floats}}; }

static BufferType bordered(int64_t channels, int64_t width) {
  return {.layout = Layout::Nhwc,
          .dims = {1, channels, 4, 4},
          .channelStride = channels,
          .border = {width, width, width, width, 0}};
}

TEST(PlanMemory, AChainNeedsTwoBuffers) {
  Plan plan = planOf(std::vector<BufferType>(5, vectorOf(16)),
                     {{0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}});
  EXPECT_EQ(plan.arenaBytes, 128);
  EXPECT_EQ(plan.naiveBytes, 320);
}

TEST(PlanMemory, BorderedBuffersShareWithTheirTypeOnly) {
  Plan plan = planOf({bordered(16, 1), bordered(16, 1), bordered(16, 2),
                      bordered(16, 1), vectorOf(16)},
                     {{0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}});
  EXPECT_EQ(plan.buffers[3].offset, plan.buffers[0].offset);
  EXPECT_NE(plan.buffers[1].offset, plan.buffers[0].offset);
  EXPECT_EQ(plan.arenaBytes, 2 * 6 * 6 * 64 + 8 * 8 * 64 + 64);
}

TEST(PlanMemory, LargeBorderedBuffersShareWithAll) {
  // 1.1 MiB each, and 144 KiB, too little for it.
  Plan plan = planOf({bordered(8192, 1), vectorOf(1 << 20), bordered(8192, 1),
                      bordered(1024, 1)},
                     {{0}, {0, 1}, {1, 2}, {2, 3}});
  EXPECT_EQ(plan.arenaBytes, (4 << 20) + 36 * (8192 + 1024) * 4);
  EXPECT_TRUE(plan.buffers[0].borderEveryRun);
  EXPECT_TRUE(plan.buffers[2].borderEveryRun);
  EXPECT_FALSE(plan.buffers[3].borderEveryRun);
  // Nobody else: once is enough.
  plan = planOf({bordered(8192, 1), vectorOf(16)}, {{0}, {0, 1}});
  EXPECT_FALSE(plan.buffers[0].borderEveryRun);
}

TEST(PlanMemory, SeveralWorkersShareLargerBordersOnly) {
  BufferType type = bordered(16, 1);
  type.dims = {1, 16, 90, 90}; // 0.5 MiB
  Plan plan = planOf({type, vectorOf(200000)}, {{0}, {1}});
  EXPECT_TRUE(plan.buffers[0].borderEveryRun);
  planMemory(plan, 2);
  EXPECT_FALSE(plan.buffers[0].borderEveryRun);
}

static BufferType image(int64_t channels) {
  BufferType type = bordered(channels, 0);
  type.channelStride = (channels + 15) / 16 * 16;
  return type;
}

TEST(PlanMemory, ImagesOfAStepUseBothHalvesOfTheCache) {
  auto apart = [](const Plan &plan, int a, int b) {
    int64_t distance =
        plan.buffers[size_t(a)].offset - plan.buffers[size_t(b)].offset;
    return distance % 128 != 0;
  };
  // 32 channels are two lines. 0 is placed first, being bordered.
  Plan plan =
      planOf({bordered(32, 1), image(32), image(32)}, {{0}, {0, 1}, {1, 2}});
  EXPECT_TRUE(apart(plan, 0, 1));
  EXPECT_TRUE(apart(plan, 1, 2));
  EXPECT_LE(plan.arenaBytes, plan.naiveBytes + 2 * 64);
  // A third one cannot differ from two that differ.
  plan = planOf({image(32), image(32), image(32)}, {{0}, {0, 1}, {0, 1, 2}});
  EXPECT_TRUE(apart(plan, 0, 1));
  EXPECT_LE(plan.arenaBytes, plan.naiveBytes + 2 * 64);
  // 48 channels are three lines and alternate by themselves; nor do a matrix
  // and an image of other channels go through the cache side by side.
  plan = planOf({image(48), image(48)}, {{0}, {0, 1}});
  EXPECT_EQ(plan.arenaBytes, plan.naiveBytes);
  plan = planOf({image(32), image(64), vectorOf(32)}, {{0}, {0, 1}, {1, 2}});
  EXPECT_LE(plan.arenaBytes, plan.naiveBytes);
  EXPECT_FALSE(apart(plan, 0, 1));
}

TEST(PlanMemory, ViewsKeepTheirBufferAlive) {
  Plan plan;
  for (int i = 0; i < 4; ++i)
    plan.buffers.push_back({.type = vectorOf(16), .value = 0});
  plan.buffers[1].aliasOf = 0;
  plan.steps = {{0, {0}, ""}, {0, {2}, ""}, {0, {1, 3}, ""}};
  planMemory(plan, 1);
  EXPECT_EQ(plan.buffers[1].offset, plan.buffers[0].offset);
  EXPECT_NE(plan.buffers[2].offset, plan.buffers[0].offset);
  EXPECT_EQ(plan.arenaBytes, 128);
}

TEST(PlanMemory, NoTwoLiveBuffersOverlap) {
  std::mt19937 random(11);
  auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<BufferType> types;
    std::vector<std::vector<int32_t>> steps(size_t(pick(1, 30)));
    for (int32_t i = 0, count = int32_t(pick(1, 25)); i < count; ++i) {
      types.push_back(pick(0, 2) ? vectorOf(pick(1, 500))
                                 : bordered(16 * pick(1, 2), pick(1, 2)));
      int64_t first = pick(0, int64_t(steps.size()) - 1);
      steps[size_t(first)].push_back(i);
      steps[size_t(pick(first, int64_t(steps.size()) - 1))].push_back(i);
    }
    Plan plan = planOf(types, steps);
    EXPECT_LE(plan.arenaBytes, plan.naiveBytes);
    std::vector<Lifetime> lifetimes = lifetimesOf(plan);
    for (size_t i = 0; i < types.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const PlanBuffer &a = plan.buffers[i], &b = plan.buffers[j];
        ASSERT_EQ(a.offset % 64, 0);
        ASSERT_LE(a.offset + a.type.sizeBytes(), plan.arenaBytes);
        bool apart = a.offset + a.type.sizeBytes() <= b.offset ||
                     b.offset + b.type.sizeBytes() <= a.offset;
        if (apart)
          continue;
        ASSERT_FALSE(lifetimes[i].overlaps(lifetimes[j]));
        bool border = !a.type.border.empty() || !b.type.border.empty();
        ASSERT_TRUE(!border || (a.type == b.type && a.offset == b.offset));
      }
  }
}

// Its steps take turns, so none of its buffers is free before all have run.
TEST(PlanMemory, BuffersOfAChainLiveTogether) {
  Plan plan;
  for (int i = 0; i < 6; ++i)
    plan.buffers.push_back({.type = vectorOf(16), .value = 0});
  plan.steps = {{0, {0, 1}, ""},
                {0, {1, 2}, ""},
                {0, {2, 3}, ""},
                {0, {3, 4}, ""},
                {0, {4, 5}, ""}};
  plan.chains = {{1, 3}};
  planMemory(plan, 1);
  EXPECT_EQ(plan.arenaBytes, 4 * 64); // 1 to 4; 0 shares with one of 2 to 4
}
