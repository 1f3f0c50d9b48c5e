#include "space/Variation.h"

#include "lower/KernelCase.h"

#include <cmath>
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

TEST(Variation, AChoiceIsTakenOrRefused) {
  Task task = tasks()[0];
  Space space(task, host());
  Random random(7);
  for (int i = 0; i < 50; ++i) {
    Schedule base = space.sample(random);
    for (const DecisionPoint &point : decisionsOf(space, base)) {
      int64_t value = point.choices[random.below(point.choices.size())];
      Choice choice = {point.decision, point.subject, value};
      std::optional<Schedule> leaf = withChoice(space, base, choice);
      ASSERT_TRUE(leaf) << point.subject << ' ' << value;
      EXPECT_TRUE(space.check(*leaf));
      EXPECT_EQ(leaf->get(point.decision, point.subject, -1), value);
    }
  }
  Schedule base = space.sample(random);
  EXPECT_FALSE(withChoice(space, base, {Decision::RegisterRow, "f", 1000}));
}

TEST(KnownLeaves, EndsWithASmallSpace) {
  Task task = ConvCase{.c = 16, .f = 16, .h = 1, .w = 1}.task();
  Target target = host();
  target.threads = 1;
  Space space(task, target);
  Random random(1);
  KnownLeaves known;
  std::vector<Schedule> drawn;
  while (known.drawNew(space, random, drawn))
    ASSERT_LT(drawn.size(), 1000u);
  EXPECT_NEAR(double(drawn.size()), std::pow(10, space.log10Size()), 0.5);
}
