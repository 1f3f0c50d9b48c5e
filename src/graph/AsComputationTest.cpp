#include "graph/AsComputation.h"

#include "graph/GraphBuilder.h"
#include "graph/Passes.h"
#include "graph/Reference.h"

#include <gtest/gtest.h>

#include <random>

using namespace tlm;

namespace {

class Net {
public:
  Graph graph;

  ValueId input(Dims dims, DType dtype = DType::F32) {
    return builder.addInput(next("x"), dtype, std::move(dims));
  }
  ValueId add(Op op, std::vector<ValueId> operands,
              OpAttributes attributes = {}) {
    Result<ValueId> result = builder.add(
        op, std::move(operands), std::move(attributes), next("v"), next("n"));
    EXPECT_TRUE(result.ok()) << result.error().message;
    return *result;
  }
  ValueId reshape(ValueId x, Dims dims) {
    return *builder.addReshape(x, std::move(dims), next("v"), next("n"));
  }

private:
  std::string next(const char *prefix) {
    return prefix + std::to_string(counter++);
  }

  GraphBuilder builder{graph};
  int counter = 0;
};

std::vector<Tensor> run(const Graph &graph) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) {
    const Value &value = graph.value(id);
    Tensor tensor = Tensor::make(value.dtype, value.dims);
    for (float &element : tensor.data)
      element = normal(random);
    if (value.dtype == DType::I64)
      for (int64_t i = 0; i < countOf(value.dims); ++i)
        reinterpret_cast<int64_t *>(tensor.raw())[i] = int64_t(random() % 5);
    inputs.push_back(std::move(tensor));
  }
  auto outputs = runReference(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return outputs ? std::move(*outputs) : std::vector<Tensor>{};
}

void expectClose(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].dims, b[i].dims);
    ASSERT_EQ(a[i].data.size(), b[i].data.size());
    for (size_t j = 0; j < a[i].data.size(); ++j)
      EXPECT_NEAR(a[i].data[j], b[i].data[j], 2e-5f) << j;
    EXPECT_EQ(a[i].bytes, b[i].bytes);
  }
}

/// The node by its own reference and as a computation.
void expectSame(Op op, std::vector<Dims> inputs, OpAttributes attributes = {}) {
  Net net;
  std::vector<ValueId> operands;
  for (Dims &dims : inputs)
    operands.push_back(net.input(dims));
  net.graph.outputs = {net.add(op, operands, attributes)};
  std::vector<Tensor> wanted = run(net.graph);
  Node &node = net.graph.nodes[0];
  std::optional<Computation> computation = asComputation(net.graph, node);
  ASSERT_TRUE(computation) << nameOf(op);
  node.op = Op::Compute;
  node.attributes = *computation;
  ASSERT_EQ(verifyGraph(net.graph), "");
  SCOPED_TRACE(std::string(nameOf(op)) + "\n" + computation->text());
  expectClose(run(net.graph), wanted);
}

/// Simplifies; returns the operators left.
std::string simplified(Net &net) {
  std::vector<Tensor> wanted = run(net.graph);
  simplifyGraph(net.graph);
  expectClose(run(net.graph), wanted);
  std::string ops;
  for (const Node &node : net.graph.nodes)
    ops += (ops.empty() ? "" : " ") + std::string(nameOf(node.op));
  return ops;
}

/// out[i] = x[i / 2] + 1, of i64.
Computation halves() {
  ComputationBuilder b({6});
  auto x =
      b.load(0, DType::I64, {b.op(Scalar::Div, {b.loop(0), b.integer(2)})});
  return b.finish(b.op(Scalar::Add, {x, b.integer(1)}));
}

/// out[r, i] = table[row[i], r] for table [5, 3].
Computation gather() {
  ComputationBuilder b({3, 6});
  auto row = b.load(1, DType::I64, {b.loop(1)});
  return b.finish(b.load(0, DType::F32, {row, b.loop(0)}));
}

} // namespace

TEST(AsComputation, Pointwise) {
  for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Min})
    expectSame(op, {{2, 1, 5}, {4, 1}});
  expectSame(Op::Clip, {{7}}, ScalarAttributes{-0.5f, 0.5f});
  expectSame(Op::HardSigmoid, {{7}}, ScalarAttributes{0.2f, 0.5f});
  expectSame(Op::LeakyRelu, {{7}}, ScalarAttributes{0.1f, 0});
  expectSame(Op::Elu, {{7}}, ScalarAttributes{1.5f, 0});
  for (Op op : {Op::Relu, Op::Sigmoid, Op::Tanh, Op::Swish, Op::HardSwish,
                Op::Exp, Op::Neg, Op::Abs, Op::Erf, Op::Gelu, Op::GeluTanh})
    expectSame(op, {{3, 9}});
}

TEST(AsComputation, Movement) {
  expectSame(Op::Transpose, {{2, 3, 4}}, AxesAttributes{{2, 0, 1}});
  expectSame(Op::Concat, {{2, 3}, {2, 1}, {2, 4}}, AxesAttributes{{1}});
  expectSame(Op::Pad, {{3, 4}}, PadAttributes{{1, -1}, {0, 2}, 7});
}

TEST(AsComputation, Contractions) {
  expectSame(Op::ReduceMean, {{2, 3, 4}}, AxesAttributes{{2, 0}});
  expectSame(Op::MatMul, {{2, 1, 3, 4}, {3, 4, 5}});
  Window wide{3, 2, 1, 1, 1}, high{2, 1, 2, 0, 2};
  expectSame(Op::Conv, {{2, 4, 7, 6}, {6, 2, 2, 3}, {6}},
             ConvAttributes{{high, wide}, 2});
  expectSame(Op::Conv, {{1, 2, 8}, {3, 2, 3}}, ConvAttributes{{wide}, 1});
}

TEST(AsComputation, Pools) {
  Window padded{3, 2, 1, 1, 1}, dilated{2, 1, 2, 0, 1};
  expectSame(Op::MaxPool, {{1, 2, 7, 6}},
             PoolAttributes{{padded, dilated}, false, {0, 0}});
  for (bool include : {false, true})
    expectSame(Op::AveragePool, {{1, 2, 7, 6}},
               PoolAttributes{{padded, dilated}, include, {0, 1}});
}

TEST(InlineComputations, ChainsBecomeOne) {
  Net net;
  ValueId positions = net.input({3}, DType::I64), table = net.input({5, 3});
  ValueId rows = net.add(Op::Compute, {positions}, halves());
  ValueId rank2 = net.reshape(rows, {1, 6});
  ValueId flat = net.reshape(rank2, {6});
  ValueId gathered = net.add(Op::Compute, {table, flat}, gather());
  net.graph.outputs = {net.add(Op::Exp, {gathered})};
  EXPECT_EQ(simplified(net), "compute");
}

TEST(InlineComputations, WhatTwoReadOrAnEpilogueStays) {
  Net shared;
  ValueId rows =
      shared.add(Op::Compute, {shared.input({3}, DType::I64)}, halves());
  ValueId a = shared.add(Op::Compute, {shared.input({5, 3}), rows}, gather());
  ValueId b = shared.add(Op::Compute, {shared.input({5, 3}), rows}, gather());
  shared.graph.outputs = {a, b};
  EXPECT_EQ(simplified(shared), "compute compute compute");

  Net product;
  ValueId x =
      product.add(Op::MatMul, {product.input({4, 3}), product.input({3, 3})});
  ValueId relu = product.add(Op::Relu, {x});
  ValueId y = product.add(Op::Compute, {relu, product.input({6}, DType::I64)},
                          gather());
  product.graph.outputs = {y};
  EXPECT_EQ(simplified(product), "matmul relu compute");
}
