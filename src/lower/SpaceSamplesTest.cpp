//===- SpaceSamplesTest.cpp - leaves of the space are kernels -------------===//

#include "lower/KernelCheck.h"
#include "space/Space.h"
#include "space/SpaceTestTasks.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

void expectRight(const Task &task, const Schedule &schedule,
                 const Target &target) {
  Result<Kernel> kernel = lowerTask(task, schedule, target, "kernel");
  ASSERT_TRUE(kernel) << kernel.error().message << '\n'
                      << task.text() << schedule.text();
  Result<LoadedKernel> loaded = LoadedKernel::load(*kernel);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(checkKernel(task, *kernel, *loaded).wrong, "")
      << task.text() << schedule.text();
}

} // namespace

TEST(SpaceSamples, AreRight) {
  Target wide = hostTarget(), narrow = *targetFor("x86-64-v3");
  wide.threads = narrow.threads = 4;
  for (const Target &target : {wide, narrow}) {
    if (!missingFeature(target).empty())
      continue;
    Random random(9);
    for (const Task &task : spaceTestTasks()) {
      Space space(task, target);
      for (int i = 0; i < 2; ++i)
        expectRight(task, space.sample(random), target);
    }
  }
}

/// The same choice everywhere reaches the corners: all first, all last.
TEST(SpaceSamples, CornersAreRight) {
  Target target = hostTarget();
  target.threads = 4;
  for (const Task &task : spaceTestTasks()) {
    Space space(task, target);
    expectRight(task, space.write([](const DecisionPoint &p) {
      return p.choices.front();
    }),
                target);
    expectRight(task, space.write([](const DecisionPoint &p) {
      return p.choices.back();
    }),
                target);
  }
}
