#include "measure/Measure.h"

#include "lower/KernelCase.h"
#include "space/DefaultSchedule.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

Target host(int64_t threads = 1) {
  Target target = hostTarget();
  target.threads = threads;
  return target;
}

Kernel build(const Task &task, const Target &target) {
  Result<Kernel> kernel =
      lowerTask(task, defaultSchedule(task, target), target, "k");
  EXPECT_TRUE(kernel) << kernel.error().message;
  return std::move(*kernel);
}

Task convolution() {
  return ConvCase{.c = 64, .f = 64, .h = 28, .w = 28, .k = 3, .pad = 1}
      .relu()
      .task();
}

} // namespace

TEST(Measure, TimesAKernelWithOneThreadAndWithTwo) {
  for (int threads : {1, 2}) {
    Task task = convolution();
    Kernel kernel = build(task, host(threads));
    MeasureOptions options;
    options.threads = threads;
    Measurer measurer(options);
    std::vector<Measurement> results = measurer.measure({{&task, &kernel}});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].outcome, Outcome::Ok) << results[0].detail;
    EXPECT_GT(results[0].minMicroseconds, 1);
    EXPECT_GE(results[0].medianMicroseconds, results[0].minMicroseconds);
    EXPECT_GE(results[0].samples, 7);
    EXPECT_GE(results[0].slowdown, 1);
  }
}

// In order, faults too, and before the next candidate is measured.
TEST(Measure, TellsOfEachResultAtOnce) {
  Task task = convolution();
  Kernel good = build(task, host()), empty = good;
  empty.object.clear();
  std::vector<Outcome> told;
  std::vector<Measurement> results =
      Measurer({}).measure({{&task, &good}, {&task, &empty}, {&task, &good}},
                           [&](size_t i, const Measurement &measurement) {
                             EXPECT_EQ(i, told.size());
                             told.push_back(measurement.outcome);
                           });
  EXPECT_EQ(told, (std::vector<Outcome>{Outcome::Ok, Outcome::Unloadable,
                                        Outcome::Ok}));
  EXPECT_EQ(results.size(), 3u);
}

// Also when nothing has been timed yet.
TEST(Measure, TellsOfTheFirstWhenItIsWrong) {
  Task task = convolution(), other = convolution();
  other.points[0].op = Op::Neg;
  Kernel good = build(task, host()), empty = good;
  empty.object.clear();
  std::vector<Measurement> results =
      Measurer({}).measure({{&other, &good}, {&task, &empty}, {&task, &good}});
  EXPECT_EQ(results[0].outcome, Outcome::WrongValues) << results[0].detail;
  EXPECT_EQ(results[1].outcome, Outcome::Unloadable) << results[1].detail;
  EXPECT_EQ(results[2].outcome, Outcome::Ok) << results[2].detail;
}

// Who measures with the same options knows the fastest that any of them saw.
TEST(Measure, SharesTheCalibration) {
  Task task = convolution();
  Kernel kernel = build(task, host());
  MeasureOptions options;
  EXPECT_FALSE(std::isfinite(options.calibration->fastest()));
  Measurer(options).measure({{&task, &kernel}});
  double fastest = options.calibration->fastest();
  EXPECT_GT(fastest, 0);
  // A machine that was once a hundred times as fast is not quiet now.
  options.calibration->note(fastest / 100);
  Measurement slow = Measurer(options).measure({{&task, &kernel}})[0];
  EXPECT_TRUE(slow.isOk());
  EXPECT_GT(slow.slowdown, 50);
}

// Each fault is the outcome of its candidate; the ones around it are measured.
TEST(Measure, GoesOnAfterFaults) {
  Task task = convolution(), other = convolution();
  other.points[0].op = Op::Neg;
  Kernel good = build(task, host());
  Kernel unscratched = good, empty = good;
  unscratched.workerScratchBytes = unscratched.scratchBytes = 0;
  empty.object.clear();
  ASSERT_GT(good.workerScratchBytes + good.scratchBytes, 0);
  Measurer measurer({});
  std::vector<Measurement> results = measurer.measure({
      {&task, &good},
      {&task, &unscratched}, // writes to the null page
      {&other, &good},       // another task's kernel
      {&task, &empty},
      {.task = &task, .kernel = &good, .cutOffMicroseconds = 1e-3},
      {&task, &good},
  });
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[0].outcome, Outcome::Ok) << results[0].detail;
  EXPECT_EQ(results[1].outcome, Outcome::Crashed);
  EXPECT_EQ(results[2].outcome, Outcome::WrongValues);
  EXPECT_NE(results[2].detail.find("expected"), std::string::npos);
  EXPECT_EQ(results[3].outcome, Outcome::Unloadable);
  EXPECT_EQ(results[4].outcome, Outcome::CutOff);
  EXPECT_EQ(results[5].outcome, Outcome::Ok) << results[5].detail;
}
