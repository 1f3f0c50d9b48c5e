//===- TaskTest.cpp -------------------------------------------------------===//

#include "task/Task.h"

#include <gtest/gtest.h>

using namespace tlm;

static BufferType nhwc(int64_t channels, int64_t extent, int64_t border = 0) {
  return BufferType{.layout = Layout::Nhwc,
                    .dims = {1, channels, extent, extent},
                    .channelStride = (channels + 15) / 16 * 16,
                    .border = {border, border, border, border, 0}};
}

/// relu(conv3x3(x) + residual), as in a residual block.
static Task residualConv() {
  Task task;
  task.kind = TaskKind::Conv;
  task.operands = {{Role::Input, nhwc(64, 56, 1)},
                   {Role::Weight, {.dims = {64, 64, 3, 3}}, true},
                   {Role::Bias, {.dims = {64}}, true},
                   {Role::Extra, nhwc(64, 56)},
                   {Role::Output, nhwc(64, 56)}};
  task.windows = {{3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}};
  task.points = {
      {Op::Add,
       {{PointRef::Kind::Accumulator, 0}, {PointRef::Kind::Operand, 3}}},
      {Op::Clip, {{PointRef::Kind::Point, 0}}, 0, 6}};
  return task;
}

// Records and the tensor language store this text and this key: a change of
// either is a new kTaskVersion.
TEST(Task, CanonicalTextIsLocked) {
  Task task = residualConv();
  EXPECT_EQ(task.text(), "tlm-task 1\n"
                         "kind conv\n"
                         "operand input f32 nhwc[1,64,56,56]c64 "
                         "border(1,1,1,1)=0\n"
                         "operand weight const f32 plain[64,64,3,3]\n"
                         "operand bias const f32 plain[64]\n"
                         "operand extra f32 nhwc[1,64,56,56]c64\n"
                         "operand output f32 nhwc[1,64,56,56]c64\n"
                         "window 3 stride 1 dilation 1 pad 1 1\n"
                         "window 3 stride 1 dilation 1 pad 1 1\n"
                         "point add acc operand3\n"
                         "point clip point0 b=6\n");
  EXPECT_EQ(task.key(), "555afd0e23337270");
  EXPECT_EQ(task.verify(), "");
}

TEST(Task, Labels) {
  Task task = residualConv();
  EXPECT_EQ(task.label(), "conv3x3s1_56x56x64_64_add_clip");
  task.points.assign(6, PointOp{Op::Relu, {{}}});
  EXPECT_EQ(task.label(), "conv3x3s1_56x56x64_64_relu_relu_relu_relu_etc");

  Task matmul;
  matmul.kind = TaskKind::MatMul;
  matmul.operands = {{Role::Input, {.dims = {1, 2048}}},
                     {Role::Weight, {.dims = {2048, 1000}}, true},
                     {Role::Output, {.dims = {1, 1000}}}};
  EXPECT_EQ(matmul.label(), "matmul_1x2048x1000");
  EXPECT_EQ(matmul.verify(), "");

  Task copy;
  copy.kind = TaskKind::Copy;
  copy.operands = {{Role::Input, {.dims = {1, 3, 8, 8}}},
                   {Role::Output, nhwc(3, 8)}};
  EXPECT_EQ(copy.label(), "copy_8x8x3_plain_nhwc");
  EXPECT_EQ(copy.verify(), "");
}

TEST(Task, Flops) {
  EXPECT_EQ(residualConv().flops(), 2.0 * 56 * 56 * 64 * 64 * 9);
  Task depthwise = residualConv();
  depthwise.kind = TaskKind::Depthwise;
  depthwise.groups = 64;
  depthwise.operands[1].type.dims = {64, 1, 3, 3};
  EXPECT_EQ(depthwise.verify(), "");
  EXPECT_EQ(depthwise.flops(), 2.0 * 56 * 56 * 64 * 9);
}

TEST(Task, WindowBorderIsWhatIsRead) {
  // 112 wide, 3x3 stride 2, one pixel all around: the last window ends inside.
  Border border = windowBorder({{3, 2, 1, 1, 1}, {3, 1, 2, 2, 2}}, 112, 10);
  EXPECT_EQ(border, (Border{1, 0, 2, 2, 0}));
}

TEST(Task, VerifyNamesWhatIsBroken) {
  Task narrow = residualConv();
  narrow.operands[0].type.border.left = 0;
  EXPECT_EQ(narrow.verify(), "input border narrower than its windows read");

  Task unordered = residualConv();
  std::swap(unordered.operands[1], unordered.operands[2]);
  EXPECT_EQ(unordered.verify(), "operand2: out of the order of roles");

  Task forward = residualConv();
  forward.points[0].inputs[0] = {PointRef::Kind::Point, 1};
  EXPECT_EQ(forward.verify(), "point0: reads point1");

  Task shape = residualConv();
  shape.operands[1].type.dims = {64, 64, 3, 5};
  EXPECT_EQ(shape.verify(), "weight dims do not fit");

  Task huge = residualConv();
  huge.operands[0].type.dims = {int64_t(1) << 39, 64, 56, 56};
  EXPECT_EQ(huge.verify(), "operand0: too many elements");

  Task extra = residualConv();
  extra.operands[3].type = {.dims = {64}};
  EXPECT_EQ(extra.verify(), "operand3: does not broadcast to the output");
}

// relu(x) * scale[c] summed over the last dim.
static Task computeTask() {
  ComputationBuilder builder({2, 3}, {4});
  auto x = builder.load(
      0, DType::F32, {builder.loop(0), builder.loop(1), builder.reduction(0)});
  auto relu = builder.op(Scalar::Max, {x, builder.real(0.1)});
  auto scale =
      builder.cast(builder.load(1, DType::I32, {builder.loop(1)}), DType::F32);
  auto sum =
      builder.reduce(builder.op(Scalar::Mul, {relu, scale}), Combine::Sum);
  Task task;
  task.kind = TaskKind::Compute;
  task.computation = builder.finish(sum);
  task.operands = {{Role::Input, {.dims = {2, 3, 4}}},
                   {Role::Input, {.dtype = DType::I32, .dims = {3}}, true},
                   {Role::Output, {.dims = {2, 3}}}};
  return task;
}

TEST(Task, ComputationIsPartOfTheText) {
  Task task = computeTask();
  EXPECT_EQ(task.verify(), "");
  EXPECT_EQ(task.text(), "tlm-task 1\n"
                         "kind compute\n"
                         "operand input f32 plain[2,3,4]\n"
                         "operand input const i32 plain[3]\n"
                         "operand output f32 plain[2,3]\n"
                         "loops [2, 3] reductions [4]\n"
                         "%0 = loop 0\n"
                         "%1 = loop 1\n"
                         "%2 = loop 2\n"
                         "%3 = load f32 0 [%0, %1, %2]\n"
                         "%4 = const f32 0.1\n"
                         "%5 = max %3 %4\n"
                         "%6 = load i32 1 [%1]\n"
                         "%7 = cast f32 %6\n"
                         "%8 = mul %5 %7\n"
                         "%9 = reduce sum %8\n"
                         "result %9\n");
  EXPECT_EQ(task.label(), "compute_2x3_sum_4_10");
  EXPECT_EQ(task.flops(), 2.0 * 3 * 4 * 10);
  Task wrong = task;
  wrong.operands[1].type.dtype = DType::I64;
  EXPECT_EQ(wrong.verify(), "%6: load of a i32 from a i64");
  wrong = task;
  wrong.operands[2].type.dims = {2, 4};
  EXPECT_EQ(wrong.verify(), "loops are not the output's dims");
}
