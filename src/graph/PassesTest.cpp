#include "graph/Passes.h"

#include "graph/SimplifyFixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

/// Builds a graph of one input x and runs it before and after simplifying.
class PassesTest : public SimplifyFixture {
protected:
  PassesTest() : SimplifyFixture({0.37f, 4, 1, 1e-5f}) {}

  ValueId constant(Dims dims, float from = 0.5f) {
    return SimplifyFixture::constant(std::move(dims), from);
  }

  ValueId conv(ValueId x, int64_t filters, bool bias, int64_t pad = 0) {
    std::vector<ValueId> inputs = {
        x, constant({filters, graph.value(x).dims[1], 3, 3}, 0)};
    if (bias)
      inputs.push_back(constant({filters}));
    Window w{3, 1, 1, pad, pad};
    return add(Op::Conv, inputs, ConvAttributes{{w, w}, 1});
  }

  std::vector<Op> ops() const {
    std::vector<Op> result;
    for (const Node &node : graph.nodes)
      result.push_back(node.op);
    return result;
  }

  ValueId x = builder.addInput("x", DType::F32, {1, 2, 6, 5});
};

TEST_F(PassesTest, BatchNormGoesIntoConv) {
  ValueId y = add(Op::Mul, {conv(x, 3, true), constant({3, 1, 1})});
  finish(add(Op::Add, {y, constant({3, 1, 1})}));
  EXPECT_EQ(ops(), std::vector{Op::Conv});
}

TEST_F(PassesTest, SubAndDivGoIntoConvWithoutBias) {
  ValueId y = add(Op::Sub, {conv(x, 3, false), constant({1, 3, 1, 1})});
  finish(add(Op::Div, {y, scalar(3)}));
  EXPECT_EQ(ops(), std::vector{Op::Conv});
  EXPECT_EQ(graph.nodes[0].inputs.size(), 3u);
}

TEST_F(PassesTest, ScaleStaysWhenConvIsReadTwice) {
  ValueId c = conv(x, 3, true);
  ValueId scaled = add(Op::Mul, {c, constant({3, 1, 1})});
  finish(add(Op::Add, {scaled, c}));
  EXPECT_EQ(ops(), (std::vector{Op::Conv, Op::Mul, Op::Add}));
}

TEST_F(PassesTest, InfiniteScaleStays) {
  float infinity = std::numeric_limits<float>::infinity();
  ValueId c = conv(x, 3, true);
  graph.outputs = {add(Op::Mul, {c, scalar(infinity)})};
  simplifyGraph(graph);
  EXPECT_EQ(ops(), (std::vector{Op::Conv, Op::Mul}));
}

TEST_F(PassesTest, PerColumnConstantIsNoChannelScale) {
  finish(add(Op::Mul, {conv(x, 3, true), constant({3})}));
  EXPECT_EQ(ops(), (std::vector{Op::Conv, Op::Mul}));
}

TEST_F(PassesTest, ChainOfStepsBecomesMulAndAdd) {
  ValueId y = add(Op::Mul, {constant({2, 1, 1}), x});
  y = add(Op::Add, {y, constant({2, 1, 1})});
  y = add(Op::Div, {y, scalar(3)});
  finish(add(Op::Sub, {y, constant({1, 2, 1, 1})}));
  EXPECT_EQ(ops(), (std::vector{Op::Mul, Op::Add}));
}

TEST_F(PassesTest, ChainOfShiftsBecomesOneAdd) {
  finish(add(Op::Sub, {add(Op::Add, {x, constant({2, 1, 1})}), scalar(1)}));
  EXPECT_EQ(ops(), std::vector{Op::Add});
}

TEST_F(PassesTest, ScaledResidualsStay) {
  ValueId y = add(Op::Mul, {x, constant({2, 1, 1})});
  finish(add(Op::Mul, {y, y}));
  EXPECT_EQ(ops(), (std::vector{Op::Mul, Op::Mul}));
}

TEST_F(PassesTest, MatMulTakesScaleButKeepsAdd) {
  ValueId flat = reshape(x, {6, 10});
  ValueId product = add(Op::MatMul, {flat, constant({10, 4})});
  ValueId scaled = add(Op::Mul, {product, constant({4})});
  finish(add(Op::Add, {scaled, constant({4})}));
  EXPECT_EQ(ops(), (std::vector{Op::Reshape, Op::MatMul, Op::Add}));
}

TEST_F(PassesTest, ConvOutputOfTheGraphKeepsItsValue) {
  ValueId c = conv(x, 3, true);
  ValueId y = add(Op::Mul, {c, constant({3, 1, 1})});
  graph.outputs = {c, y};
  simplifyGraph(graph);
  EXPECT_EQ(ops(), (std::vector{Op::Conv, Op::Mul}));
}

TEST_F(PassesTest, Swish) {
  finish(add(Op::Mul, {add(Op::Sigmoid, {x}), x}));
  EXPECT_EQ(ops(), std::vector{Op::Swish});
}

TEST_F(PassesTest, SigmoidReadElsewhereStays) {
  ValueId gate = add(Op::Sigmoid, {x});
  finish(add(Op::Sub, {add(Op::Mul, {x, gate}), gate}));
  EXPECT_EQ(ops(), (std::vector{Op::Sigmoid, Op::Swish, Op::Sub}));
}

TEST_F(PassesTest, HardSwishFromHardSigmoid) {
  ValueId gate = add(Op::HardSigmoid, {x}, ScalarAttributes{1.0f / 6.0f, 0.5f});
  finish(add(Op::Mul, {x, gate}));
  EXPECT_EQ(ops(), std::vector{Op::HardSwish});
}

TEST_F(PassesTest, OtherHardSigmoidIsNoHardSwish) {
  ValueId gate = add(Op::HardSigmoid, {x}, ScalarAttributes{0.2f, 0.5f});
  finish(add(Op::Mul, {x, gate}));
  EXPECT_EQ(ops(), (std::vector{Op::HardSigmoid, Op::Mul}));
}

TEST_F(PassesTest, HardSwishFromClip) {
  ValueId clip =
      add(Op::Clip, {add(Op::Add, {x, scalar(3)})}, ScalarAttributes{0, 6});
  finish(add(Op::Div, {add(Op::Mul, {x, clip}), scalar(6)}));
  EXPECT_EQ(ops(), std::vector{Op::HardSwish});
}

TEST_F(PassesTest, HardSigmoidThenHardSwishFromClip) {
  ValueId clip =
      add(Op::Clip, {add(Op::Add, {scalar(3), x})}, ScalarAttributes{0, 6});
  finish(add(Op::Mul, {add(Op::Div, {clip, scalar(6)}), x}));
  EXPECT_EQ(ops(), std::vector{Op::HardSwish});
}

TEST_F(PassesTest, HardSigmoidBehindConvKeepsItsShift) {
  ValueId c = conv(x, 3, true);
  ValueId clip =
      add(Op::Clip, {add(Op::Add, {c, scalar(3)})}, ScalarAttributes{0, 6});
  finish(add(Op::Div, {clip, scalar(6)}));
  EXPECT_EQ(ops(), (std::vector{Op::Conv, Op::HardSigmoid}));
}

TEST_F(PassesTest, ZeroPadGoesIntoConv) {
  ValueId padded =
      add(Op::Pad, {x}, PadAttributes{{0, 0, 1, 0}, {0, 0, 2, 1}, 0});
  finish(conv(padded, 3, true, 1));
  EXPECT_EQ(ops(), std::vector{Op::Conv});
  auto &windows = std::get<ConvAttributes>(graph.nodes[0].attributes).windows;
  EXPECT_EQ(windows[0].padEnd, 3);
}

TEST_F(PassesTest, TapsOfPaddingGo) {
  // Rows read pixels at -5, 0 and 5 from theirs, columns only their own.
  Window w{3, 1, 5, 5, 5};
  finish(add(Op::Conv, {x, constant({4, 2, 3, 3}), constant({4})},
             ConvAttributes{{w, w}, 1}));
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).dims, (Dims{4, 2, 3, 1}));
  const auto &conv = std::get<ConvAttributes>(graph.nodes[0].attributes);
  EXPECT_EQ(conv.windows[0], w);
  EXPECT_EQ(conv.windows[1], (Window{1, 1, 1, 0, 0}));
}

TEST_F(PassesTest, WindowsWithoutTheirUnusedTapsAgree) {
  int64_t narrowed = 0;
  for (int64_t kernel : {1, 2, 3, 4})
    for (int64_t stride : {1, 3})
      for (int64_t dilation : {1, 4, 7})
        for (int64_t begin : {0, 3, 7, 9})
          for (int64_t end : {0, 2, 8}) {
            Window w{kernel, stride, dilation, begin, end};
            if (dilation * (kernel - 1) >= 5 + begin + end)
              continue;
            graph = Graph();
            x = builder.addInput("x", DType::F32, {1, 2, 6, 5});
            finish(add(Op::Conv, {x, constant({4, 1, kernel, kernel})},
                       ConvAttributes{{w, w}, 2}));
            narrowed += countOf(graph.value(graph.nodes[0].inputs[1]).dims) <
                        4 * kernel * kernel;
          }
  EXPECT_GT(narrowed, 20);
}

TEST_F(PassesTest, OtherPadsStay) {
  ValueId ones =
      add(Op::Pad, {x}, PadAttributes{{0, 0, 1, 1}, {0, 0, 1, 1}, 1});
  ValueId channels =
      add(Op::Pad, {ones}, PadAttributes{{0, 1, 0, 0}, {0, 0, 0, 0}, 0});
  finish(conv(channels, 3, true));
  EXPECT_EQ(ops(), (std::vector{Op::Pad, Op::Pad, Op::Conv}));
}

TEST_F(PassesTest, ZeroPadGoesIntoAveragePool) {
  ValueId padded =
      add(Op::Pad, {x}, PadAttributes{{0, 0, 1, 1}, {0, 0, 1, 1}, 0});
  Window w{3, 1, 1, 0, 0};
  finish(add(Op::AveragePool, {padded}, PoolAttributes{{w, w}, false, {0, 0}}));
  EXPECT_EQ(ops(), std::vector{Op::AveragePool});
}

TEST_F(PassesTest, ReshapesMerge) {
  ValueId y = reshape(reshape(x, {60}), {12, 5});
  ValueId back = reshape(reshape(y, {5, 12}), {12, 5});
  finish(add(Op::Relu, {back}));
  EXPECT_EQ(ops(), (std::vector{Op::Reshape, Op::Relu}));
}

TEST_F(PassesTest, IdentitiesGo) {
  ValueId y = add(Op::Transpose, {x}, AxesAttributes{{0, 1, 2, 3}});
  y = add(Op::Concat, {y}, AxesAttributes{{1}});
  y = add(Op::Pad, {y}, PadAttributes{Dims(4, 0), Dims(4, 0), 0});
  finish(add(Op::Relu, {y}));
  EXPECT_EQ(ops(), std::vector{Op::Relu});
}

TEST_F(PassesTest, CopyOfAnInputStays) {
  // What import makes of an output that is an input.
  graph.values.push_back({"y", DType::F32, graph.value(x).dims, {}});
  ValueId y = ValueId(graph.values.size() - 1);
  graph.nodes.push_back({Op::Reshape, "copy", {x}, {y}, {}});
  finish(y);
  EXPECT_EQ(ops(), std::vector{Op::Reshape});
}

TEST_F(PassesTest, EqualConstantsMergeAndDeadOnesGo) {
  ValueId a = add(Op::Mul, {x, builder.addConstant("a", {1}, {2})});
  ValueId b = add(Op::Sub, {a, builder.addConstant("b", {1}, {2})});
  add(Op::Exp, {b}); // nobody reads it
  finish(b);
  EXPECT_EQ(ops(), (std::vector{Op::Mul, Op::Sub}));
  EXPECT_EQ(graph.nodes[0].inputs[1], graph.nodes[1].inputs[1]);
  EXPECT_EQ(graph.values.size(), 4u);
}

} // namespace
