//===- KernelCheckTest.cpp - right kernels pass, wrong ones do not --------===//

#include "lower/KernelCheck.h"

#include "lower/KernelCase.h"
#include "space/DefaultSchedule.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tlm;

namespace {

Target target() {
  Target target = hostTarget();
  target.threads = 2;
  return target;
}

Kernel lowered(const Task &task, const Schedule &schedule,
               const std::string &prefix = "k") {
  EXPECT_EQ(task.verify(), "");
  Result<Kernel> kernel = lowerTask(task, schedule, target(), prefix);
  EXPECT_TRUE(kernel) << kernel.error().message << task.text();
  return std::move(*kernel);
}

Kernel lowered(const Task &task) {
  return lowered(task, defaultSchedule(task, target()));
}

KernelVerdict verdictOf(const Task &task, const Kernel &kernel) {
  Result<LoadedKernel> loaded = LoadedKernel::load(kernel);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return checkKernel(task, kernel, *loaded);
}

void expectRight(const Task &task) {
  for (const Schedule &schedule :
       {defaultSchedule(task, target()), plainSchedule(task)}) {
    KernelVerdict verdict = verdictOf(task, lowered(task, schedule));
    EXPECT_EQ(verdict.wrong, "") << task.text() << schedule.text();
    EXPECT_GT(verdict.points, 0);
  }
}

void expectWrong(const Task &task, const Kernel &kernel,
                 const std::string &part) {
  std::string wrong = verdictOf(task, kernel).wrong;
  EXPECT_NE(wrong.find(part), std::string::npos) << "'" << wrong << "'";
}

Task pointwise(std::vector<PointOp> points, int64_t channels = 20) {
  Task task;
  task.kind = TaskKind::Pointwise;
  BufferType type;
  type.layout = Layout::Nhwc;
  type.dims = {1, channels, 5, 7};
  type.channelStride = 32;
  task.operands = {{Role::Input, type, false},
                   {Role::Extra, type, false},
                   {Role::Output, type, false}};
  task.points = std::move(points);
  return task;
}

} // namespace

TEST(KernelCheck, ContractionsAreExact) {
  expectRight(ConvCase{.c = 24, .f = 40, .h = 9, .w = 13}.task());
  expectRight(ConvCase{.c = 64, .f = 100, .h = 14, .w = 14, .outBorder = 1}
                  .residual()
                  .relu()
                  .task());
  expectRight(
      ConvCase{.c = 3, .f = 24, .h = 17, .w = 17, .k = 7, .stride = 2, .pad = 3}
          .relu6()
          .task());
  expectRight(ConvCase{.c = 32, .f = 192, .h = 7, .w = 7}.scaled().task());
  expectRight(ConvCase{
      .c = 40, .f = 40, .h = 9, .w = 9, .k = 5, .pad = 2, .depthwise = true}
                  .relu6()
                  .task());
  expectRight(MatMulCase{.m = 3, .k = 2500, .n = 100}.task());
}

TEST(KernelCheck, LargeWeightsTakeLittleMemory) {
  // 48 MiB of weights; 16 of them are distinct.
  Task task = MatMulCase{.m = 1, .k = 3000, .n = 4096}.task();
  Kernel kernel = lowered(task);
  EXPECT_EQ(verdictOf(task, kernel).wrong, "");
  OperandData data(task, kernel, 7);
  int64_t period = 4093 * 1024;
  const float *weights = data.taskOperands()[1];
  EXPECT_EQ(weights[5], weights[5 + period]);
  EXPECT_EQ(weights[3000 * 4096 - 1], weights[3000 * 4096 - 1 - 2 * period]);
}

TEST(KernelCheck, PoolsAndMoves) {
  for (TaskKind kind :
       {TaskKind::MaxPool, TaskKind::AveragePool, TaskKind::GlobalPool})
    expectRight(PoolCase{.kind = kind, .c = 40, .h = 12, .w = 11}.task());
  Task copy = pointwise({});
  copy.kind = TaskKind::Copy;
  copy.operands.erase(copy.operands.begin() + 1);
  copy.operands[1].type.border = {1, 1, 2, 2, 0};
  expectRight(copy);
  copy.operands[0].type.layout = Layout::Plain;
  copy.operands[0].type.channelStride = 0;
  expectRight(copy);
}

TEST(KernelCheck, Epilogues) {
  PointRef x, extra{PointRef::Kind::Operand, 1};
  PointRef first{PointRef::Kind::Point, 0};
  for (Op op : {Op::Sigmoid, Op::Tanh, Op::Swish, Op::HardSwish, Op::Exp,
                Op::Sqrt, Op::Neg, Op::Abs, Op::Erf, Op::Relu})
    expectRight(pointwise({{Op::Mul, {x, extra}, 0, 0}, {op, {first}, 0, 0}}));
  for (Op op : {Op::HardSigmoid, Op::LeakyRelu, Op::Elu})
    expectRight(
        pointwise({{Op::Add, {x, extra}, 0, 0}, {op, {first}, 0.3f, 0.4f}}));
  for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Min})
    expectRight(pointwise({{op, {x, extra}, 0, 0}}));
  for (Op op : {Op::Max, Op::Min}) {
    expectRight(pointwise({{op, {x}, 0, 0}}));
    expectRight(
        pointwise({{Op::Neg, {x}, 0, 0}, {op, {x, extra, first}, 0, 0}}));
  }
  expectRight(pointwise({{Op::Div, {x, extra}, 0, 0}}, /*channels=*/32));
  expectRight(ConvCase{.c = 48, .f = 64, .h = 14, .w = 14, .k = 3, .pad = 1}
                  .swish()
                  .task());
  expectRight(MatMulCase{.m = 2, .k = 100, .n = 30}.sigmoid().task());
}

TEST(KernelCheck, SoftmaxAndConcat) {
  Task task;
  task.kind = TaskKind::Softmax;
  BufferType type;
  type.dims = {3, 1000};
  task.operands = {{Role::Input, type, false}, {Role::Output, type, false}};
  expectRight(task);
  task = pointwise({});
  task.kind = TaskKind::Concat;
  task.operands[1].role = Role::Input;
  task.operands[2].type.dims[1] = 40;
  task.operands[2].type.channelStride = 48;
  expectRight(task);
}

TEST(KernelCheck, WinogradWithinItsError) {
  int64_t transformed = 0;
  ConvCase small{.n = 1, .f = 64, .h = 14, .w = 14, .k = 3, .pad = 1};
  ConvCase deep{.n = 8, .c = 512, .f = 512, .h = 7, .w = 7, .k = 3, .pad = 1};
  for (int64_t channels : {32, 128, 512, 0}) {
    ConvCase conv = channels ? small : deep;
    conv.c = channels ? channels : deep.c;
    Task task = conv.relu().task();
    Kernel kernel = lowered(task);
    transformed += kernel.packings[1]->transform != WeightTransform::None;
    EXPECT_EQ(verdictOf(task, kernel).wrong, "") << task.text();
  }
  EXPECT_GT(transformed, 0) << "nothing was tested";
}

TEST(KernelCheck, FindsAKernelOfAnotherTask) {
  ConvCase conv{.c = 32, .f = 48, .h = 10, .w = 10, .k = 3, .pad = 1};
  Kernel kernel = lowered(conv.task());
  expectWrong(ConvCase(conv).relu().task(), kernel, "expected 0 (tolerance 0)");
  expectWrong(ConvCase(conv).relu6().task(), kernel, "point [");
  expectWrong(ConvCase(conv).swish().task(), kernel, "point [");
}

TEST(KernelCheck, FindsWhatWasNotWritten) {
  for (const Task &task : {ConvCase{.c = 32, .f = 64, .h = 56, .w = 56}.task(),
                           PoolCase{.c = 64, .h = 56, .w = 56}.task()}) {
    Kernel kernel = lowered(task);
    --kernel.stages.back().chunks;
    expectWrong(task, kernel, "nothing was written at element");
  }
}

TEST(KernelCheck, FindsWritesToTheBorder) {
  ConvCase conv{.c = 32, .f = 32, .h = 8, .w = 8};
  Kernel kernel = lowered(conv.task());
  conv.outBorder = 1;
  std::string wrong = verdictOf(conv.task(), kernel).wrong;
  EXPECT_NE(wrong, "");
  // A copy that writes all of a wider image.
  Task copy = pointwise({});
  copy.kind = TaskKind::Copy;
  copy.operands.erase(copy.operands.begin() + 1);
  Kernel wide = lowered(copy, plainSchedule(copy));
  for (Operand &operand : copy.operands) {
    operand.type.dims = {1, 20, 5, 5};
    operand.type.border = {0, 0, 0, 2, 0};
  }
  expectWrong(copy, wide, "elements of the output's border were written");
}

TEST(KernelCheck, ManyAtOnceOnAnyThreads) {
  std::vector<Task> tasks;
  std::vector<Kernel> kernels;
  for (int64_t channels : {16, 24, 32, 48, 64}) {
    tasks.push_back(ConvCase{.c = channels, .f = 64, .h = 9, .w = 9}.task());
    kernels.push_back(lowered(tasks.back(), plainSchedule(tasks.back()),
                              "k" + std::to_string(channels)));
  }
  --kernels[3].stages[0].chunks;
  std::vector<KernelToCheck> all;
  for (size_t i = 0; i < tasks.size(); ++i)
    all.push_back({&tasks[i], &kernels[i]});
  Result<std::vector<KernelVerdict>> one = checkKernels(all, 1);
  Result<std::vector<KernelVerdict>> three = checkKernels(all, 3);
  ASSERT_TRUE(one && three);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ((*one)[i].wrong.empty(), i != 3) << (*one)[i].wrong;
    EXPECT_EQ((*one)[i].wrong, (*three)[i].wrong);
    EXPECT_EQ((*one)[i].points, (*three)[i].points);
  }
  EXPECT_TRUE(checkKernels({}, 2)->empty());
}
