#include "graph/Graph.h"

#include "graph/GraphBuilder.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

/// relu(x) with x f32[2,3].
Graph reluGraph() {
  Graph graph;
  GraphBuilder builder(graph);
  ValueId x = builder.addInput("x", DType::F32, {2, 3});
  graph.outputs = {*builder.add(Op::Relu, {x}, {}, "y", "relu")};
  return graph;
}

TEST(Graph, TypeText) {
  EXPECT_EQ(typeText(DType::F32, {1, 3, 224, 224}), "f32[1,3,224,224]");
  EXPECT_EQ(typeText(DType::I64, {}), "i64[]");
}

TEST(Graph, CountOfScalarAndEmpty) {
  EXPECT_EQ(countOf({}), 1);
  EXPECT_EQ(countOf({4, 0, 2}), 0);
}

TEST(VerifyGraph, AcceptsGoodGraph) { EXPECT_EQ(verifyGraph(reluGraph()), ""); }

TEST(VerifyGraph, SeesUseBeforeDefinition) {
  Graph graph = reluGraph();
  graph.nodes[0].inputs = {graph.outputs[0]};
  EXPECT_NE(verifyGraph(graph).find("before it is defined"), std::string::npos);
}

TEST(VerifyGraph, SeesTwoProducers) {
  Graph graph = reluGraph();
  graph.nodes.push_back(graph.nodes[0]);
  EXPECT_NE(verifyGraph(graph).find("defined twice"), std::string::npos);
}

TEST(VerifyGraph, SeesWrongShape) {
  Graph graph = reluGraph();
  graph.value(graph.outputs[0]).dims = {3, 2};
  EXPECT_NE(verifyGraph(graph).find("yields [2,3]"), std::string::npos);
}

TEST(VerifyGraph, SeesIdOutOfRange) {
  Graph graph = reluGraph();
  graph.outputs = {7};
  EXPECT_NE(verifyGraph(graph).find("#7"), std::string::npos);
}

TEST(VerifyGraph, SeesConstantOfWrongSize) {
  Graph graph = reluGraph();
  GraphBuilder(graph).addConstant("c", DType::F32, {3},
                                  makeConstant(std::vector<float>{1, 2}));
  EXPECT_NE(verifyGraph(graph).find("8 bytes"), std::string::npos);
}

TEST(GraphBuilder, ComputesConstantsAtOnce) {
  Graph graph;
  GraphBuilder builder(graph);
  ValueId a = builder.addConstant("a", {2}, {1, 2});
  ValueId b = builder.addConstant("b", {1}, {10});
  ValueId sum = *builder.add(Op::Add, {a, b}, {}, "sum", "add");
  EXPECT_TRUE(graph.nodes.empty());
  ASSERT_TRUE(graph.value(sum).isConstant());
  EXPECT_EQ(graph.value(sum).constant.as<float>()[1], 12);
}

TEST(GraphBuilder, RefusesIntegerOperands) {
  Graph graph;
  GraphBuilder builder(graph);
  ValueId x = builder.addInput("x", DType::I64, {2});
  auto result = builder.add(Op::Relu, {x}, {}, "y", "relu");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("of type i64"), std::string::npos);
}

TEST(GraphBuilder, RefusesReshapeToAnotherCount) {
  Graph graph;
  GraphBuilder builder(graph);
  ValueId x = builder.addInput("x", DType::F32, {2, 3});
  EXPECT_FALSE(builder.addReshape(x, {5}, "y", "reshape"));
  EXPECT_TRUE(builder.addReshape(x, {3, 2}, "y", "reshape"));
}

} // namespace
