//===- LowerTest.cpp - every template against the plain form --------------===//
//
// Integer-valued inputs in [-4, 4]: contractions and pooling must agree exactly
// with the plain kernel, which the networks' tests compare with the reference;
// Winograd and transcendental epilogues within their stated error.
//
//===----------------------------------------------------------------------===//

#include "lower/KernelCase.h"
#include "space/DefaultSchedule.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tlm;

namespace {

float largestDifference(const Task &task, const AlignedFloats &a,
                        const AlignedFloats &b) {
  // The border belongs to the context, and lanes behind C may hold anything
  // finite.
  const BufferType &type = task.output().type;
  std::vector<int64_t> s = type.strides();
  float largest = 0;
  std::vector<int64_t> at(type.dims.size(), 0);
  for (int64_t left = 1; left;) {
    int64_t offset = type.origin();
    for (size_t d = 0; d < at.size(); ++d)
      offset += at[d] * s[d];
    float difference = std::abs(a[offset] - b[offset]);
    if (!(difference <= largest))
      largest = std::isnan(difference) ? INFINITY : difference;
    left = 0;
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < type.dims[d]) {
        left = 1;
        break;
      }
      at[d] = 0;
    }
  }
  return largest;
}

void expectEqual(const Task &task, float tolerance, const Schedule &schedule,
                 const Target &target) {
  ASSERT_EQ(task.verify(), "");
  auto fast = KernelCase::make(task, schedule, target);
  ASSERT_TRUE(fast) << fast.error().message << "\n"
                    << task.text() << schedule.text();
  auto plain = KernelCase::make(task, plainSchedule(task), target);
  ASSERT_TRUE(plain) << plain.error().message;
  fast->run();
  plain->run();
  EXPECT_LE(largestDifference(task, fast->output(), plain->output()), tolerance)
      << task.text() << schedule.text();
}

void expectEqual(const Task &task, float tolerance, int threads = 2) {
  Target target = hostTarget();
  target.threads = threads;
  expectEqual(task, tolerance, defaultSchedule(task, target), target);
}

} // namespace

TEST(Lower, Conv1x1) {
  expectEqual(ConvCase{.c = 64, .f = 128, .h = 14, .w = 14}.relu().task(), 0);
  expectEqual(ConvCase{.c = 24, .f = 40, .h = 9, .w = 13}.task(), 0);
  expectEqual(ConvCase{.n = 3, .c = 32, .f = 48, .h = 7, .w = 7}.relu().task(),
              0);
  expectEqual(
      ConvCase{.c = 64, .f = 112, .h = 14, .w = 14}.residual().relu().task(),
      0);
  expectEqual(ConvCase{.c = 64, .f = 64, .h = 14, .w = 14, .outBorder = 1}
                  .relu()
                  .task(),
              0);
}

TEST(Lower, ConvWindows) {
  expectEqual(
      ConvCase{
          .c = 32, .f = 64, .h = 12, .w = 11, .k = 3, .stride = 2, .pad = 1}
          .relu()
          .task(),
      0);
  expectEqual(
      ConvCase{
          .c = 24, .f = 32, .h = 9, .w = 9, .k = 3, .pad = 1, .dilation = 1}
          .task(),
      0);
  expectEqual(
      ConvCase{
          .c = 16, .f = 32, .h = 9, .w = 9, .k = 3, .pad = 2, .dilation = 2}
          .task(),
      0);
  expectEqual(ConvCase{.c = 3,
                       .f = 64,
                       .h = 30,
                       .w = 30,
                       .k = 7,
                       .stride = 2,
                       .pad = 3,
                       .nchwInput = true}
                  .relu()
                  .task(),
              0);
  expectEqual(
      ConvCase{.c = 256, .f = 512, .h = 14, .w = 14, .stride = 2}.task(), 0);
}

TEST(Lower, ConvScaledInput) {
  // More pixels than filters: the weights are scaled; fewer: the input.
  expectEqual(ConvCase{.c = 32, .f = 16, .h = 12, .w = 12}.scaled().task(), 0);
  expectEqual(ConvCase{.c = 32, .f = 192, .h = 7, .w = 7}.scaled().task(), 0);
  expectEqual(
      ConvCase{.n = 2, .c = 32, .f = 16, .h = 7, .w = 7}.scaled().task(), 0);
}

TEST(Lower, Winograd) {
  expectEqual(
      ConvCase{
          .c = 64, .f = 64, .h = 56, .w = 56, .k = 3, .pad = 1, .outBorder = 1}
          .relu()
          .task(),
      0.05f);
  expectEqual(ConvCase{.c = 64, .f = 96, .h = 14, .w = 14, .k = 3, .pad = 1}
                  .residual()
                  .relu()
                  .task(),
              0.05f);
  expectEqual(
      ConvCase{.n = 2, .c = 128, .f = 128, .h = 28, .w = 28, .k = 3, .pad = 1}
          .task(),
      0.05f);
}

TEST(Lower, WinogradOfSmallTilesIsExactOnIntegers) {
  Target target = hostTarget();
  target.threads = 2;
  for (const Task &task :
       {ConvCase{.c = 64, .f = 96, .h = 14, .w = 14, .k = 3, .pad = 1}
            .residual()
            .relu()
            .task(),
        ConvCase{
            .n = 2, .c = 32, .f = 32, .h = 7, .w = 9, .k = 3, .outBorder = 1}
            .task(),
        ConvCase{.c = 16, .f = 32, .h = 3, .w = 2, .k = 3, .pad = 1}.task()})
    for (Algorithm algorithm :
         {Algorithm::WinogradBlocked, Algorithm::WinogradStaged}) {
      Space space(task, target);
      ASSERT_TRUE(space.offers(algorithm)) << task.text();
      Schedule wish;
      wish.set(Decision::Algorithm, "", int64_t(algorithm));
      wish.set(Decision::WinogradTile, "", int64_t(WinogradTile::F2x2));
      expectEqual(task, 0, space.write([&](const DecisionPoint &point) {
        return wish.get(point.decision, point.subject, point.choices.back());
      }),
                  target);
    }
}

TEST(Lower, Depthwise) {
  for (int64_t stride : {1, 2})
    for (int64_t k : {3, 5}) {
      ConvCase c{.c = 48,
                 .f = 48,
                 .h = 14,
                 .w = 14,
                 .k = k,
                 .stride = stride,
                 .pad = k / 2,
                 .depthwise = true};
      expectEqual(c.task(), 0);
      expectEqual(ConvCase(c).relu6().task(), 0);
    }
  expectEqual(ConvCase{.c = 32,
                       .f = 32,
                       .h = 13,
                       .w = 13,
                       .k = 3,
                       .pad = 1,
                       .depthwise = true,
                       .outBorder = 2}
                  .relu()
                  .task(),
              0);
  expectEqual(ConvCase{.c = 32,
                       .f = 32,
                       .h = 14,
                       .w = 14,
                       .k = 5,
                       .pad = 2,
                       .depthwise = true}
                  .swish()
                  .task(),
              1e-4f);
}

TEST(Lower, Pools) {
  expectEqual(
      PoolCase{.kind = TaskKind::MaxPool, .c = 64, .h = 28, .w = 28}.task(), 0);
  expectEqual(PoolCase{.kind = TaskKind::AveragePool,
                       .c = 32,
                       .h = 12,
                       .w = 12,
                       .k = 2,
                       .stride = 2,
                       .pad = 0}
                  .task(),
              1e-6f);
  // An identity, but for the stride.
  expectEqual(PoolCase{.kind = TaskKind::AveragePool,
                       .c = 32,
                       .h = 12,
                       .w = 12,
                       .k = 1,
                       .pad = 0}
                  .task(),
              0);
  expectEqual(
      PoolCase{.kind = TaskKind::AveragePool, .c = 32, .h = 12, .w = 12}.task(),
      1e-6f);
  expectEqual(
      PoolCase{.kind = TaskKind::GlobalPool, .c = 96, .h = 7, .w = 7}.task(),
      1e-5f);
}

TEST(Lower, MatMul) {
  expectEqual(MatMulCase{.m = 1, .k = 256, .n = 1000}.task(), 0);
  expectEqual(MatMulCase{.m = 1, .k = 10, .n = 240}.sigmoid().task(), 1e-6f);
  expectEqual(MatMulCase{.m = 5, .k = 33, .n = 20}.task(), 0);
  expectEqual(
      MatMulCase{.m = 128, .k = 64, .n = 96, .transposed = false}.task(), 0);
}

/// Between NCHW and NHWC: blocks of channels and pixels, and what is left.
TEST(Lower, Layouts) {
  for (int64_t channels : {1, 3, 16, 24, 40})
    for (auto [height, width] :
         {std::pair<int64_t, int64_t>{1, 1}, {6, 3}, {4, 14}, {7, 7}, {6, 33}})
      for (int64_t border : {0, 2}) {
        BufferType plain{.dims = {2, channels, height, width}}, nhwc = plain;
        nhwc.layout = Layout::Nhwc;
        nhwc.channelStride = (channels + 15) / 16 * 16;
        nhwc.border = {border, border, border, 0};
        for (bool toChannels : {true, false}) {
          Task task;
          task.kind = TaskKind::Copy;
          task.operands = {{Role::Input, toChannels ? plain : nhwc},
                           {Role::Output, toChannels ? nhwc : plain}};
          expectEqual(task, 0);
        }
        plain.border = {0, border, 0, 0};
        Task task;
        task.kind = TaskKind::Copy;
        task.operands = {{Role::Input, nhwc}, {Role::Output, plain}};
        expectEqual(task, 0);
      }
}
