//===- RowsTest.cpp - softmax and normalisation over rows of any length ---===//
//
// Against the evaluator, with vectors of 8 lanes and those of the host.
//
//===----------------------------------------------------------------------===//

#include "lower/AlignedFloats.h"
#include "lower/KernelCheck.h"
#include "space/DefaultSchedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

std::vector<Target> targets() {
  std::vector<Target> targets = {hostTarget(), *targetFor("x86-64-v3")};
  for (Target &target : targets)
    target.threads = 2;
  return targets;
}

Task softmax(std::vector<int64_t> dims) {
  Task task;
  task.kind = TaskKind::Softmax;
  task.operands = {{Role::Input, {.dims = dims}},
                   {Role::Output, {.dims = dims}}};
  return task;
}

Task normalize(Norm norm, std::vector<int64_t> dims, bool affine) {
  Task task = softmax(dims);
  task.kind = TaskKind::Normalize;
  task.norm = norm;
  task.epsilon = 1e-5f;
  if (!affine)
    return task;
  Operand parameter{Role::Weight, {.dims = {dims.back()}}, true};
  task.operands.insert(task.operands.begin() + 1, parameter);
  parameter.role = Role::Bias;
  if (norm == Norm::Layer)
    task.operands.insert(task.operands.begin() + 2, parameter);
  return task;
}

Result<LoadedKernel> load(const Task &task, const Schedule &schedule,
                          const Target &target, Kernel &kernel) {
  EXPECT_EQ(task.verify(), "");
  Result<Kernel> lowered = lowerTask(task, schedule, target, "kernel");
  EXPECT_TRUE(lowered) << lowered.error().message << task.text();
  kernel = std::move(*lowered);
  return LoadedKernel::load(kernel);
}

void expectRight(const Task &task) {
  for (const Target &target : targets()) {
    Schedule fast = defaultSchedule(task, target);
    EXPECT_EQ(fast.get(Decision::Algorithm, "", -1),
              int64_t(Algorithm::Direct));
    for (const Schedule &schedule : {fast, plainSchedule(task)}) {
      Kernel kernel;
      Result<LoadedKernel> loaded = load(task, schedule, target, kernel);
      ASSERT_TRUE(loaded) << loaded.error().message;
      EXPECT_EQ(checkKernel(task, kernel, *loaded).wrong, "")
          << target.cpu << '\n'
          << task.text() << schedule.text();
    }
  }
}

constexpr int64_t kColumns[] = {1,  2,  7,  8,  9,   15,  16,  17,   31,  48,
                                49, 63, 65, 77, 196, 197, 769, 1500, 1000};

} // namespace

TEST(Rows, SoftmaxOfAnyLength) {
  for (int64_t columns : kColumns)
    expectRight(softmax({2, 3, columns}));
}

TEST(Rows, LayerNormOfAnyLength) {
  for (int64_t columns : kColumns)
    expectRight(normalize(Norm::Layer, {6, columns}, columns % 8 != 0));
}

TEST(Rows, RmsNormOfAnyLength) {
  for (int64_t columns : kColumns)
    expectRight(normalize(Norm::Rms, {6, columns}, columns % 8 != 0));
}

/// Infinities and NaN reach what the formula says, and nothing of them the
/// next row.
TEST(Rows, SoftmaxOfSpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Target &target : targets())
    for (int64_t columns : {5, 16, 21, 70}) {
      Task task = softmax({5, columns});
      Kernel kernel;
      Result<LoadedKernel> loaded =
          load(task, defaultSchedule(task, target), target, kernel);
      ASSERT_TRUE(loaded) << loaded.error().message;
      for (int64_t at : {int64_t(0), columns - 1}) {
        AlignedFloats x(5 * columns), y(5 * columns);
        for (int64_t i = 0; i < 5 * columns; ++i)
          x[i] = 1;
        x[at] = kNan;
        x[columns + at] = kInf;
        x[2 * columns + at] = -kInf;
        for (int64_t c = 0; c < columns; ++c)
          x[3 * columns + c] = -kInf;
        loaded->run({x.data(), y.data()});
        for (int64_t c = 0; c < columns; ++c) {
          EXPECT_TRUE(std::isnan(y[c])) << columns << ' ' << c;
          EXPECT_TRUE(std::isnan(y[columns + c])) << columns << ' ' << c;
          EXPECT_NEAR(y[2 * columns + c], c == at ? 0 : 1 / float(columns - 1),
                      1e-6f);
          EXPECT_TRUE(std::isnan(y[3 * columns + c])) << columns << ' ' << c;
          EXPECT_NEAR(y[4 * columns + c], 1 / float(columns), 1e-6f);
        }
      }
    }
}
