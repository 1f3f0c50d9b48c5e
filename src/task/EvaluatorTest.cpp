#include "task/Evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tlm {
namespace {

using Floats = std::vector<float>;

BufferType plain(std::vector<int64_t> dims) {
  BufferType type;
  type.dims = std::move(dims);
  return type;
}

BufferType nhwc(std::vector<int64_t> dims, int64_t channelStride,
                Border border = {}) {
  BufferType type = plain(std::move(dims));
  type.layout = Layout::Nhwc;
  type.channelStride = channelStride;
  type.border = border;
  return type;
}

/// 1, 2, 3, ...
Floats counted(int64_t count) {
  Floats values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

/// Every point of the output, row-major. `buffers` without the output's.
Floats evaluate(const Task &task, const std::vector<Floats> &buffers) {
  EXPECT_EQ(task.verify(), "");
  std::vector<const float *> operands;
  for (const Floats &buffer : buffers)
    operands.push_back(buffer.data());
  operands.push_back(nullptr);
  const std::vector<int64_t> &dims = task.output().type.dims;
  std::vector<int64_t> index(dims.size(), 0);
  Floats values;
  for (bool more = true; more;) {
    values.push_back(evaluatePoint(task, operands, index));
    more = false;
    for (size_t d = dims.size(); d-- > 0 && !more;)
      if (++index[d] < dims[d])
        more = true;
      else
        index[d] = 0;
  }
  return values;
}

Task taskOf(TaskKind kind, std::vector<Operand> operands) {
  Task task;
  task.kind = kind;
  task.operands = std::move(operands);
  return task;
}

TEST(Evaluator, Conv) {
  // x: 2 channels of 2x2, NHWC with room for 3 channels and a border of 1 at
  // the bottom and on the right.
  Task task =
      taskOf(TaskKind::Conv,
             {{Role::Input, nhwc({1, 2, 2, 2}, 3, {0, 1, 0, 1, 0}), false},
              {Role::Weight, plain({1, 2, 2, 2}), true},
              {Role::Bias, plain({1}), true},
              {Role::InputScale, plain({1, 2, 1, 1}), false},
              {Role::Output, plain({1, 1, 2, 2}), false}});
  task.windows = {{2, 1, 1, 0, 1}, {2, 1, 1, 0, 1}};
  Floats x = {1, 10, 99, 2, 20, 99, 0, 0, 0,  //
              3, 30, 99, 4, 40, 99, 0, 0, 0,  //
              0, 0,  0,  0, 0,  0,  0, 0, 0}; //
  Floats w = {1, 2, 3, 4, /*channel 1*/ 0, 0, 0, 1};
  // Channel 1 counts half: 0.5 + (1 + 4 + 9 + 16) + 40 / 2.
  EXPECT_EQ(evaluate(task, {x, w, {0.5f}, {1, 0.5f}}),
            (Floats{50.5f, 2 + 12 + 0.5f, 3 + 8 + 0.5f, 4.5f}));
}

TEST(Evaluator, ConvGroupsAndStrides) {
  Task task =
      taskOf(TaskKind::Conv, {{Role::Input, plain({1, 4, 1, 3}), false},
                              {Role::Weight, plain({2, 2, 1, 1}), true},
                              {Role::Output, plain({1, 2, 1, 2}), false}});
  task.groups = 2;
  task.windows = {{1, 1, 1, 0, 0}, {1, 2, 1, 0, 0}};
  EXPECT_EQ(evaluate(task, {counted(12), {1, 10, 100, 1000}}),
            (Floats{41, 63, 10700, 12900}));
}

TEST(Evaluator, Depthwise) {
  Task task =
      taskOf(TaskKind::Depthwise, {{Role::Input, nhwc({1, 2, 1, 2}, 2), false},
                                   {Role::Weight, plain({2, 1, 1, 2}), true},
                                   {Role::Output, plain({1, 2, 1, 1}), false}});
  task.groups = 2;
  task.windows = {{1, 1, 1, 0, 0}, {2, 1, 1, 0, 0}};
  EXPECT_EQ(evaluate(task, {{1, 2, 3, 4}, {1, 10, 100, 1000}}),
            (Floats{31, 4200}));
}

TEST(Evaluator, MatMul) {
  Task task = taskOf(TaskKind::MatMul, {{Role::Input, plain({2, 2}), false},
                                        {Role::Weight, plain({2, 2}), true},
                                        {Role::Bias, plain({2}), true},
                                        {Role::Output, plain({2, 2}), false}});
  std::vector<Floats> operands = {counted(4), {1, 2, 3, 4}, {100, 200}};
  EXPECT_EQ(evaluate(task, operands), (Floats{107, 210, 115, 222}));
  task.transposedWeight = true;
  EXPECT_EQ(evaluate(task, operands), (Floats{105, 211, 111, 225}));
}

TEST(Evaluator, MaxPool) {
  Task task = taskOf(
      TaskKind::MaxPool,
      {{Role::Input, nhwc({1, 1, 2, 2}, 1, {1, 0, 1, 0, -INFINITY}), false},
       {Role::Output, plain({1, 1, 2, 2}), false}});
  task.windows = {{2, 1, 1, 1, 0}, {2, 1, 1, 1, 0}};
  float low = -INFINITY;
  EXPECT_EQ(evaluate(task, {{low, low, low, low, -5, -4, low, -3, -6}}),
            (Floats{-5, -4, -3, -3}));
  Floats withNan = evaluate(task, {{low, low, low, low, NAN, -4, low, -3, -6}});
  for (float value : withNan)
    EXPECT_TRUE(std::isnan(value));
}

TEST(Evaluator, AveragePool) {
  Task task =
      taskOf(TaskKind::AveragePool,
             {{Role::Input, nhwc({1, 1, 2, 2}, 1, {1, 0, 1, 0, 0}), false},
              {Role::Output, plain({1, 1, 2, 2}), false}});
  task.windows = {{2, 1, 1, 1, 0}, {2, 1, 1, 1, 0}};
  std::vector<Floats> operands = {{0, 0, 0, 0, 4, 8, 0, 12, 16}};
  EXPECT_EQ(evaluate(task, operands), (Floats{4, 6, 8, 10}));
  task.countIncludePad = true;
  EXPECT_EQ(evaluate(task, operands), (Floats{1, 3, 4, 10}));
}

TEST(Evaluator, GlobalPool) {
  Task task = taskOf(TaskKind::GlobalPool,
                     {{Role::Input, nhwc({1, 2, 1, 2}, 3), false},
                      {Role::Output, plain({1, 2, 1, 1}), false}});
  EXPECT_EQ(evaluate(task, {{1, 10, 99, 2, 30, 99}}), (Floats{1.5f, 20}));
}

TEST(Evaluator, PointwiseBroadcasts) {
  Task task =
      taskOf(TaskKind::Pointwise, {{Role::Input, plain({1, 2, 1, 1}), false},
                                   {Role::Extra, nhwc({1, 2, 1, 2}, 3), false},
                                   {Role::Output, plain({1, 2, 1, 2}), false}});
  PointRef extra{PointRef::Kind::Operand, 1}, first{PointRef::Kind::Point, 0};
  task.points = {{Op::Sub, {PointRef{}, extra}, 0, 0},
                 {Op::Clip, {first}, -25, 0}};
  EXPECT_EQ(evaluate(task, {{0, 7}, {1, 10, 99, -2, 40, 99}}),
            (Floats{-1, 0, -3, -25}));
}

TEST(Evaluator, TraceKeepsEveryPoint) {
  Task task = taskOf(TaskKind::Pointwise, {{Role::Input, plain({1}), false},
                                           {Role::Output, plain({1}), false}});
  PointRef first{PointRef::Kind::Point, 0};
  task.points = {{Op::Neg, {PointRef{}}, 0, 0},
                 {Op::LeakyRelu, {first}, 0.5f, 0},
                 {Op::Max, {PointRef{}, first, first}, 0, 0}};
  float x = 4;
  PointTrace trace = Evaluator(task, {&x, nullptr}).trace({0});
  EXPECT_EQ(trace.accumulator, 4);
  EXPECT_EQ(trace.points, (Floats{-4, -2, 4}));
}

TEST(Evaluator, CopyBetweenForms) {
  Task task =
      taskOf(TaskKind::Copy,
             {{Role::Input, plain({1, 2, 1, 2}), false},
              {Role::Output, nhwc({1, 2, 1, 2}, 16, {1, 1, 1, 1, 0}), false}});
  EXPECT_EQ(evaluate(task, {counted(4)}), (Floats{1, 2, 3, 4}));
}

TEST(Evaluator, Concat) {
  Task task =
      taskOf(TaskKind::Concat, {{Role::Input, plain({1, 1, 1, 2}), false},
                                {Role::Input, nhwc({1, 2, 1, 2}, 2), false},
                                {Role::Output, plain({1, 3, 1, 2}), false}});
  EXPECT_EQ(evaluate(task, {{1, 2}, {3, 5, 4, 6}}), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(Evaluator, Softmax) {
  Task task = taskOf(TaskKind::Softmax, {{Role::Input, plain({1, 3}), false},
                                         {Role::Output, plain({1, 3}), false}});
  Floats y = evaluate(task, {{1000, 1000 + std::log(2.0f), -INFINITY}});
  EXPECT_NEAR(y[0], 1.0f / 3, 1e-5f); // 1000 + log 2 is rounded
  EXPECT_NEAR(y[1], 2.0f / 3, 1e-5f);
  EXPECT_EQ(y[2], 0);
}

TEST(Evaluator, BatchMatMul) {
  Task task =
      taskOf(TaskKind::BatchMatMul, {{Role::Input, plain({2, 1, 2}), false},
                                     {Role::Input, plain({1, 2, 2}), false},
                                     {Role::Output, plain({2, 1, 2}), false}});
  std::vector<Floats> operands = {counted(4), {1, 10, 100, 1000}};
  EXPECT_EQ(evaluate(task, operands), (Floats{201, 2010, 403, 4030}));
  task.transposedWeight = true;
  EXPECT_EQ(evaluate(task, operands), (Floats{21, 2100, 43, 4300}));
}

TEST(Evaluator, Normalize) {
  Task task =
      taskOf(TaskKind::Normalize, {{Role::Input, plain({1, 2}), false},
                                   {Role::Weight, plain({2}), true},
                                   {Role::Bias, plain({2}), true},
                                   {Role::Output, plain({1, 2}), false}});
  Floats x = {1, 7}, w = {1, 10}, b = {0, 5};
  std::vector<const float *> operands = {x.data(), w.data(), b.data(), nullptr};
  EXPECT_EQ(evaluatePoint(task, operands, {0, 0}), -1); // mean 4, deviation 3
  EXPECT_EQ(evaluatePoint(task, operands, {0, 1}), 15);
  task.norm = Norm::Rms;
  task.epsilon = 11; // (1 + 49) / 2 + 11 = 6^2
  EXPECT_FLOAT_EQ(evaluatePoint(task, operands, {0, 1}), 70.0f / 6 + 5);
}

TEST(Evaluator, Attention) {
  // Two query heads of width 1 share a key head; two tokens.
  Task task =
      taskOf(TaskKind::Attention, {{Role::Input, plain({1, 1, 2}), false},
                                   {Role::Input, plain({1, 2, 1}), false},
                                   {Role::Input, plain({1, 1, 2, 1}), false},
                                   {Role::Extra, plain({1, 1, 1, 2}), false},
                                   {Role::Output, plain({1, 1, 2}), false}});
  task.attention = {2, 1, 0.5f};
  Floats q = {2, 0}, k = {0, std::log(3.0f)}, v = {10, 20}, mask = {0, 0};
  std::vector<const float *> operands = {q.data(), k.data(), v.data(),
                                         mask.data(), nullptr};
  // Shares 1 : 3 of head 0, 1 : 1 of head 1.
  EXPECT_FLOAT_EQ(evaluatePoint(task, operands, {0, 0, 0}), 17.5f);
  EXPECT_FLOAT_EQ(evaluatePoint(task, operands, {0, 0, 1}), 15);
  mask[0] = -INFINITY;
  EXPECT_FLOAT_EQ(evaluatePoint(task, operands, {0, 0, 1}), 20);
}

} // namespace
} // namespace tlm
