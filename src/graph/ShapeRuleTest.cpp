#include "graph/ShapeRule.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

Result<Dims> infer(Op op, std::vector<Dims> inputs, OpAttributes a = {}) {
  return inferShape(op, inputs, a);
}

std::string errorOf(const Result<Dims> &result) {
  return result ? "" : result.error().message;
}

TEST(CheckedCount, RefusesOverflowAndNegative) {
  EXPECT_EQ(checkedCountOf({2, 3}), 6);
  EXPECT_EQ(checkedCountOf({int64_t(1) << 40, 0}), 0);
  EXPECT_FALSE(checkedCountOf({int64_t(1) << 40, int64_t(1) << 40}));
  EXPECT_FALSE(checkedCountOf({0, int64_t(1) << 62}));
  EXPECT_FALSE(checkedCountOf({-1}));
}

TEST(Broadcast, FollowsOnnx) {
  EXPECT_EQ(*broadcastDims({2, 1, 4}, {3, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(*broadcastDims({}, {5}), (Dims{5}));
  EXPECT_EQ(*broadcastDims({1}, {0}), (Dims{0}));
  EXPECT_FALSE(broadcastDims({2}, {3}));
}

TEST(ConvShape, OneAndTwoSpatialDims) {
  ConvAttributes two{{{3, 2, 1, 1, 1}, {3, 2, 1, 1, 1}}, 1};
  EXPECT_EQ(*infer(Op::Conv, {{1, 3, 224, 224}, {64, 3, 3, 3}}, two),
            (Dims{1, 64, 112, 112}));
  ConvAttributes one{{{3, 1, 2, 0, 0}}, 2};
  EXPECT_EQ(*infer(Op::Conv, {{1, 4, 10}, {6, 2, 3}, {6}}, one),
            (Dims{1, 6, 6}));
}

TEST(ConvShape, Refusals) {
  ConvAttributes a{{{3, 1, 1, 0, 0}, {3, 1, 1, 0, 0}}, 2};
  EXPECT_NE(
      errorOf(infer(Op::Conv, {{1, 3, 8, 8}, {4, 1, 3, 3}}, a)).find("groups"),
      std::string::npos);
  a.groups = 1;
  EXPECT_NE(errorOf(infer(Op::Conv, {{1, 3, 2, 8}, {4, 3, 3, 3}}, a))
                .find("does not fit"),
            std::string::npos);
  EXPECT_NE(errorOf(infer(Op::Conv, {{1, 3, 8, 8}, {4, 3, 3, 3}, {5}}, a))
                .find("bias [5] should be [4]"),
            std::string::npos);
  a.windows[0].stride = 0;
  EXPECT_NE(errorOf(infer(Op::Conv, {{1, 3, 8, 8}, {4, 3, 3, 3}}, a))
                .find("must be 1.."),
            std::string::npos);
}

TEST(PoolShape, EveryWindowMustTouchTheInput) {
  PoolAttributes good{{{2, 1, 1, 1, 1}}, false, {0}};
  EXPECT_EQ(*infer(Op::MaxPool, {{1, 1, 4}}, good), (Dims{1, 1, 5}));
  PoolAttributes before{{{2, 1, 1, 2, 0}}, false, {0}};
  EXPECT_NE(errorOf(infer(Op::MaxPool, {{1, 1, 4}}, before)).find("window 0"),
            std::string::npos);
  PoolAttributes behind{{{2, 1, 1, 0, 2}}, false, {0}};
  EXPECT_NE(errorOf(infer(Op::MaxPool, {{1, 1, 4}}, behind)).find("window 4"),
            std::string::npos);
}

TEST(MatMulShape, BroadcastsLeadingDims) {
  EXPECT_EQ(*infer(Op::MatMul, {{5, 1, 2, 3}, {4, 3, 7}}), (Dims{5, 4, 2, 7}));
  EXPECT_FALSE(infer(Op::MatMul, {{2, 3}, {4, 5}}));
  EXPECT_FALSE(infer(Op::MatMul, {{3}, {3, 5}}));
}

TEST(AxesShape, PermutesReducesAndJoins) {
  EXPECT_EQ(*infer(Op::Transpose, {{2, 3, 4}}, AxesAttributes{{2, 0, 1}}),
            (Dims{4, 2, 3}));
  EXPECT_FALSE(infer(Op::Transpose, {{2, 3}}, AxesAttributes{{0, 0}}));
  EXPECT_FALSE(infer(Op::Transpose, {{2, 3}}, AxesAttributes{{0}}));
  EXPECT_EQ(*infer(Op::ReduceMean, {{2, 3, 4}}, AxesAttributes{{1}}),
            (Dims{2, 1, 4}));
  EXPECT_EQ(*infer(Op::Concat, {{2, 3}, {2, 5}}, AxesAttributes{{1}}),
            (Dims{2, 8}));
  EXPECT_FALSE(infer(Op::Concat, {{2, 3}, {3, 5}}, AxesAttributes{{1}}));
  EXPECT_FALSE(infer(Op::Softmax, {{2, 3}}, AxesAttributes{{2}}));
}

TEST(PadShape, NegativeCrops) {
  EXPECT_EQ(*infer(Op::Pad, {{4, 5}}, PadAttributes{{-1, 2}, {0, -3}, 0}),
            (Dims{3, 4}));
  EXPECT_FALSE(infer(Op::Pad, {{4}}, PadAttributes{{-3}, {-3}, 0}));
  EXPECT_FALSE(infer(Op::Pad, {{4}}, PadAttributes{{-5}, {9}, 0}));
}

TEST(Shape, OperandCounts) {
  EXPECT_FALSE(infer(Op::Add, {{2}}));
  EXPECT_FALSE(infer(Op::Relu, {{2}, {2}}));
  EXPECT_FALSE(infer(Op::Conv, {{2, 2, 2}}));
  EXPECT_FALSE(infer(Op::Clip, {{2}})) << "attributes are missing";
}

TEST(Shape, RefusesHugeResults) {
  int64_t big = int64_t(1) << 30;
  EXPECT_NE(errorOf(infer(Op::Add, {{big, 1}, {1, big}})).find("too many"),
            std::string::npos);
}

} // namespace
