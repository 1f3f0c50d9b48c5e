//===- VerifyPlanTest.cpp -------------------------------------------------===//

#include "graph/GraphBuilder.h"
#include "partition/Plan.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {
/// out = conv3x3(relu(conv1x1(x))), then verifies a damaged plan.
class VerifyPlan : public testing::Test {
protected:
  VerifyPlan() {
    GraphBuilder builder(graph);
    ValueId x = builder.addInput("x", DType::F32, {1, 8, 4, 4});
    graph.inputs = {x};
    Window one, three{3, 1, 1, 1, 1};
    ValueId w1 =
        builder.addConstant("w1", {8, 8, 1, 1}, std::vector<float>(64, 1));
    ValueId w3 =
        builder.addConstant("w3", {8, 8, 3, 3}, std::vector<float>(576, 1));
    ValueId a = *builder.add(Op::Conv, {x, w1}, ConvAttributes{{one, one}, 1},
                             "a", "conv_a");
    ValueId b = *builder.add(Op::Relu, {a}, {}, "b", "relu_b");
    ValueId c = *builder.add(Op::Conv, {b, w3},
                             ConvAttributes{{three, three}, 1}, "c", "conv_c");
    graph.outputs = {c};
    plan = *partition(graph, {});
  }
  std::string broken() const { return verifyPlan(plan, graph); }
  PlanBuffer &operand(size_t step, size_t index) {
    return plan.buffers[size_t(plan.steps[step].operands[index])];
  }

  Graph graph;
  Plan plan;
};
} // namespace

TEST_F(VerifyPlan, Accepts) { EXPECT_EQ(broken(), ""); }

TEST_F(VerifyPlan, TypeOfAnOperand) {
  operand(1, 0).type.channelStride = 32;
  EXPECT_EQ(broken(), "step0: operand1: not the task's type");
}

TEST_F(VerifyPlan, OrderOfSteps) {
  std::swap(plan.steps[0], plan.steps[1]);
  EXPECT_EQ(broken(), "step0: operand0: read before it is written");
}

TEST_F(VerifyPlan, LiveOverlap) {
  operand(1, 0).offset = operand(1, 2).offset;
  EXPECT_NE(broken().find("overlaps the live buffer"), std::string::npos);
}

TEST_F(VerifyPlan, DestroyedBorder) {
  // The result of the last convolution lives after the input's copy is dead,
  // but that copy's slot has no border; the middle one's has.
  PlanBuffer &input = operand(1, 0), &middle = operand(1, 2),
             &last = operand(2, 2);
  EXPECT_FALSE(middle.type.border.empty());
  input.offset = last.offset = 0;
  middle.offset = 0;
  EXPECT_NE(broken(), "");
  middle.offset = input.type.sizeBytes();
  plan.arenaBytes = middle.offset + middle.type.sizeBytes();
  EXPECT_EQ(broken(), "");
}

TEST_F(VerifyPlan, UnwrittenOutput) {
  plan.steps.pop_back();
  EXPECT_EQ(broken(), "output0: never written");
}
