//===- SpaceTest.cpp - space, default schedule and checker agree ----------===//

#include "space/Space.h"
#include "space/DefaultSchedule.h"
#include "space/ScheduleChecker.h"
#include "space/SpaceTestTasks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace tlm;

namespace {

Target targetOf(const char *cpu, int64_t threads) {
  Target target = *targetFor(cpu);
  target.threads = threads;
  return target;
}

std::vector<Target> targets() {
  return {targetOf("znver5", 2), targetOf("x86-64-v3", 1),
          targetOf("sapphirerapids", 56)};
}

std::string errorOf(const Status &status) {
  return status ? "" : status.error().message;
}

/// The 3x3 convolution 56x56x64.
Task squareConv() { return spaceTestTasks()[2]; }

/// A 3x3 convolution of square images.
Task conv3x3(int64_t size, int64_t channels, int64_t filters,
             int64_t images = 1) {
  std::string side = std::to_string(size), c = std::to_string(channels),
              f = std::to_string(filters);
  auto image = [&](const std::string &depth, int64_t stride) {
    return "nhwc[" + std::to_string(images) + "," + depth + "," + side + "," +
           side + "]c" + std::to_string(stride);
  };
  std::string window = "window 3 stride 1 dilation 1 pad 1 1\n";
  return *parseTask("tlm-task 1\nkind conv\noperand input f32 " +
                    image(c, (channels + 15) / 16 * 16) +
                    " border(1,1,1,1)=0\noperand weight const f32 plain[" + f +
                    "," + c + ",3,3]\noperand output f32 " +
                    image(f, (filters + 15) / 16 * 16) + "\n" + window +
                    window);
}

} // namespace

TEST(Space, SamplesAreLeavesAndPassTheChecker) {
  for (const Target &target : targets())
    for (const Task &task : spaceTestTasks()) {
      Space space(task, target);
      Random random(3);
      for (int i = 0; i < 200; ++i) {
        Schedule schedule = space.sample(random);
        ASSERT_EQ(errorOf(space.check(schedule)), "");
        ASSERT_EQ(checkSchedule(task, target, schedule), "")
            << task.text() << schedule.text();
        ASSERT_FALSE(space.next(schedule));
        Result<Schedule> parsed = parseSchedule(schedule.text());
        ASSERT_TRUE(parsed);
        ASSERT_EQ(*parsed, schedule);
      }
    }
}

TEST(Space, DefaultScheduleIsALeaf) {
  for (const Target &target : targets())
    for (const Task &task : spaceTestTasks()) {
      Schedule schedule = defaultSchedule(task, target);
      EXPECT_EQ(errorOf(Space(task, target).check(schedule)), "")
          << task.text() << schedule.text();
      EXPECT_EQ(checkSchedule(task, target, schedule), "");
    }
}

/// Where filters are large beside the image, F(2x2) streams fewer bytes.
TEST(Space, DefaultTakesWinogradByCost) {
  Target target = targetOf("znver5", 1);
  auto pick = [&](const Task &task) {
    Schedule schedule = defaultSchedule(task, target);
    if (schedule.get(Decision::Algorithm, "", 0) == int64_t(Algorithm::Direct))
      return std::string("direct");
    return "f" + std::to_string(tileOutputs(WinogradTile(
                     schedule.get(Decision::WinogradTile, "", 0))));
  };
  EXPECT_EQ(pick(conv3x3(56, 64, 64)), "f4");
  EXPECT_EQ(pick(conv3x3(14, 256, 256)), "f4");
  EXPECT_EQ(pick(conv3x3(7, 512, 512)), "f2");
  EXPECT_EQ(pick(conv3x3(4, 512, 512, 8)), "f2");
  EXPECT_EQ(pick(conv3x3(2, 512, 512)), "direct");
  EXPECT_EQ(pick(conv3x3(112, 3, 16)), "direct");
}

/// The answers of `next`, one after the other, give what one walk writes.
TEST(Space, NextFollowsTheSamePath) {
  Target target = targetOf("znver5", 2);
  for (const Task &task : spaceTestTasks()) {
    Space space(task, target);
    Schedule prefix;
    Schedule written = space.write([&](const DecisionPoint &point) {
      std::optional<DecisionPoint> next = space.next(prefix);
      EXPECT_TRUE(next && next->decision == point.decision &&
                  next->subject == point.subject &&
                  next->choices == point.choices);
      prefix.choices.push_back(
          {point.decision, point.subject, point.choices.back()});
      return point.choices.back();
    });
    EXPECT_FALSE(space.next(prefix));
    EXPECT_EQ(errorOf(space.check(written)), "");
  }
}

/// One value of a sample replaced, dropped or added: both judge alike.
TEST(Space, MutationsAreJudgedAlike) {
  int refused = 0, accepted = 0;
  for (const Target &target : targets())
    for (const Task &task : spaceTestTasks()) {
      Space space(task, target);
      Random random(5);
      for (int i = 0; i < 400; ++i) {
        Schedule schedule = space.sample(random);
        Choice &choice =
            schedule.choices[random.below(schedule.choices.size())];
        switch (random.below(9)) {
        case 0:
          choice.value = int64_t(random.next() >> random.below(63));
          break;
        case 1:
          schedule.choices.push_back({choice.decision, "q", choice.value});
          break;
        case 2:
          schedule.choices.push_back(choice);
          break;
        case 3: {
          Choice dropped = choice;
          std::erase(schedule.choices, dropped);
          break;
        }
        case 4:
          choice.value = int64_t(random.below(70)) - 1;
          break;
        default: // of another leaf: perhaps illegal on this path
          choice.value = space.sample(random).get(choice.decision,
                                                  choice.subject, choice.value);
          break;
        }
        std::string space1 = errorOf(space.check(schedule));
        std::string checker = checkSchedule(task, target, schedule);
        ASSERT_EQ(space1.empty(), checker.empty())
            << target.cpu << '\n'
            << task.text() << schedule.text() << space1 << '\n'
            << checker;
        ++(space1.empty() ? accepted : refused);
      }
    }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(accepted, 500);
}

TEST(Space, ErrorsNameTheDecisionAndTheChoices) {
  Task task = squareConv();
  Space space(task, targetOf("znver5", 2));
  Schedule schedule =
      space.write([](const DecisionPoint &p) { return p.choices.front(); });
  schedule.set(Decision::RegisterRow, "f", 5);
  EXPECT_EQ(errorOf(space.check(schedule)),
            "register_row f: 5 is not among the choices; legal: 1 2 3 4");
  schedule.set(Decision::Algorithm, "", int64_t(Algorithm::Plain));
  EXPECT_EQ(errorOf(space.check(schedule)),
            "algorithm: plain is not among the choices; legal: direct "
            "winograd_blocked winograd_staged");
  schedule.choices.clear();
  EXPECT_EQ(errorOf(space.check(schedule)),
            "algorithm is missing; legal: direct winograd_blocked "
            "winograd_staged");
  schedule.taskKey = "0123456789abcdef";
  EXPECT_EQ(errorOf(space.check(schedule)),
            "a schedule of task 0123456789abcdef, not of " + task.key());
}

TEST(Space, OptionsLimitTheAlgorithms) {
  Task task = squareConv();
  Target target = targetOf("znver5", 2);
  EXPECT_TRUE(Space(task, target).offers(Algorithm::WinogradStaged));
  Space exact(task, target, {.approximate = false});
  EXPECT_FALSE(exact.offers(Algorithm::WinogradStaged));
  EXPECT_EQ(exact.whyNot(Algorithm::WinogradBlocked),
            "winograd: only exact algorithms are wanted");
  EXPECT_EQ(defaultSchedule(task, target, {.approximate = false})
                .get(Decision::Algorithm, "", -1),
            int64_t(Algorithm::Direct));
}

TEST(Space, SizeIsExactWhereSmallAndEstimatedElsewhere) {
  Target target = targetOf("znver5", 2);
  int estimated = 0;
  for (const Task &task : spaceTestTasks()) {
    Space space(task, target);
    double size = space.log10Size();
    std::set<std::string> leaves;
    Random random(1);
    for (int i = 0; i < 3000; ++i)
      leaves.insert(space.sample(random).text());
    EXPECT_LE(std::log10(double(leaves.size())), size + 0.05) << task.text();
    if (size < 2)
      EXPECT_NEAR(std::pow(10, size), double(leaves.size()), 0.01);
    estimated += size > 3.5;
  }
  EXPECT_GT(estimated, 1);
}

/// What the best hand-written kernels do is a point of the space.
TEST(Space, HoldsHandWrittenKernels) {
  Target target = targetOf("znver5", 2);
  Space space(squareConv(), target);
  auto value = [](const Schedule &wish, const DecisionPoint &point) {
    int64_t wanted = wish.get(point.decision, point.subject, -1);
    EXPECT_TRUE(std::find(point.choices.begin(), point.choices.end(), wanted) !=
                point.choices.end())
        << nameOf(point.decision) << ' ' << point.subject << " = " << wanted;
    return wanted;
  };
  // oneDNN's and onnxruntime's 14 pixels by two vectors, and F(4x4,3x3) with
  // 7 rows of tiles a block.
  Schedule direct, winograd;
  direct.set(Decision::Algorithm, "", int64_t(Algorithm::Direct));
  direct.set(Decision::JoinedGroups, "", 1);
  direct.set(Decision::Prologue, "", int64_t(Prologue::None));
  direct.set(Decision::RegisterRow, "f", 2);
  direct.set(Decision::ParallelTile, "rows", 28);
  direct.set(Decision::ParallelTile, "f", 2);
  direct.set(Decision::RegisterTile, "w", 14);
  direct.set(Decision::LoopOrder, "", int64_t(LoopOrder::RowsOuter));
  direct.set(Decision::EpiloguePlace, "", int64_t(EpiloguePlace::RegisterTile));
  direct.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
  direct.set(Decision::MaxParallelism, "", 2);
  winograd.set(Decision::Algorithm, "", int64_t(Algorithm::WinogradBlocked));
  winograd.set(Decision::WinogradTile, "", int64_t(WinogradTile::F4x4));
  winograd.set(Decision::RegisterRow, "f", 2);
  winograd.set(Decision::TileRows, "", 7);
  winograd.set(Decision::RegisterTile, "w", 7);
  winograd.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
  winograd.set(Decision::MaxParallelism, "", 2);
  for (const Schedule &wish : {direct, winograd})
    space.write([&](const DecisionPoint &point) { return value(wish, point); });
}
