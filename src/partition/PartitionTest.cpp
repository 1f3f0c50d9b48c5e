//===- PartitionTest.cpp - small networks through all parts ---------------===//

#include "partition/Plan.h"

#include "graph/GraphBuilder.h"
#include "graph/Reference.h"
#include "partition/PlanInterpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tlm;

namespace {

/// Builds a graph with seeded weights.
class Net {
public:
  Graph graph;

  ValueId input(Dims dims) {
    ValueId id = builder.addInput(next("x"), DType::F32, std::move(dims));
    graph.inputs = inputs();
    return id;
  }
  ValueId constant(Dims dims) {
    std::vector<float> data(size_t(countOf(dims)));
    std::normal_distribution<float> normal(0, 0.5f);
    for (float &value : data)
      value = normal(random);
    return builder.addConstant(next("w"), std::move(dims), std::move(data));
  }
  ValueId scalar(float value) {
    return builder.addConstant(next("s"), {}, {value});
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
  ValueId conv(ValueId x, int64_t outputs, int64_t kernel, int64_t stride = 1,
               int64_t groups = 1, bool bias = true) {
    int64_t channels = graph.value(x).dims[1];
    Window window{kernel, stride, 1, kernel / 2, kernel / 2};
    std::vector<ValueId> operands{
        x, constant({outputs, channels / groups, kernel, kernel})};
    if (bias)
      operands.push_back(constant({outputs}));
    return add(Op::Conv, operands, ConvAttributes{{window, window}, groups});
  }
  ValueId pool(Op op, ValueId x, Window window, bool includePad = false,
               std::vector<int64_t> ceilPad = {0, 0}) {
    return add(op, {x}, PoolAttributes{{window, window}, includePad, ceilPad});
  }
  ValueId relu(ValueId x) { return add(Op::Relu, {x}); }
  ValueId globalPool(ValueId x) {
    return add(Op::ReduceMean, {x}, AxesAttributes{{2, 3}});
  }
  void outputs(std::vector<ValueId> ids) { graph.outputs = std::move(ids); }

  std::mt19937 random{5};

private:
  std::vector<ValueId> inputs() const {
    std::vector<ValueId> ids;
    for (size_t i = 0; i < graph.values.size(); ++i)
      if (graph.values[i].name.starts_with("x"))
        ids.push_back(ValueId(i));
    return ids;
  }
  std::string next(const char *prefix) {
    return prefix + std::to_string(counter++);
  }

  GraphBuilder builder{graph};
  int counter = 0;
};

} // namespace

/// Partitions, verifies and runs the net twice on a poisoned arena, and
/// compares with the graph's reference. Returns the labels of the steps.
static std::vector<std::string> labelsOf(Net &net, Plan *planOut = nullptr,
                                         float tolerance = 1e-5f) {
  EXPECT_EQ(verifyGraph(net.graph), "");
  Result<Plan> plan = partition(net.graph, {});
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  if (!plan.ok())
    return {};
  EXPECT_EQ(verifyPlan(*plan, net.graph), "") << planText(*plan, net.graph);

  PlanInterpreter interpreter(*plan, net.graph);
  ReferenceOptions serial;
  serial.threads = 1;
  std::normal_distribution<float> normal;
  for (int round = 0; round < 2; ++round) {
    std::vector<Tensor> inputs;
    for (ValueId id : net.graph.inputs) {
      Tensor tensor{net.graph.value(id).dims, {}};
      for (int64_t i = 0; i < countOf(tensor.dims); ++i)
        tensor.data.push_back(normal(net.random));
      inputs.push_back(std::move(tensor));
    }
    Result<std::vector<Tensor>> expected =
        runReference(net.graph, inputs, serial);
    EXPECT_TRUE(expected.ok()) << expected.error().message;
    std::vector<Tensor> actual = interpreter.run(inputs);
    for (size_t i = 0; i < actual.size(); ++i) {
      float worst = 0, largest = 0;
      for (size_t j = 0; j < actual[i].data.size(); ++j) {
        float want = (*expected)[i].data[j];
        float error = std::fabs(actual[i].data[j] - want);
        worst = error <= worst ? worst : error; // a NaN stays
        largest = std::max(largest, std::fabs(want));
      }
      EXPECT_LE(worst, tolerance * largest)
          << "output " << i << ", run " << round << '\n'
          << planText(*plan, net.graph);
    }
  }
  std::vector<std::string> labels;
  for (const PlanStep &step : plan->steps)
    labels.push_back(plan->tasks[size_t(step.task)].label());
  if (planOut)
    *planOut = std::move(*plan);
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Partition, ResidualBlockWithProjection) {
  Net net;
  ValueId x = net.input({1, 16, 8, 8});
  ValueId stem = net.relu(net.conv(x, 24, 3));
  ValueId a = net.relu(net.conv(stem, 16, 1));
  ValueId b = net.relu(net.conv(a, 16, 3, 2));
  ValueId c = net.conv(b, 32, 1);
  ValueId shortcut = net.conv(stem, 32, 1, 2);
  ValueId sum = net.relu(net.add(Op::Add, {c, shortcut}));
  net.outputs({net.globalPool(sum)});
  // The Add goes to the end of the longer branch.
  EXPECT_EQ(labelsOf(net),
            (Labels{"copy_8x8x16_plain_nhwc", "conv3x3s1_8x8x16_24_relu",
                    "conv1x1s1_8x8x24_16_relu", "conv3x3s2_8x8x16_16_relu",
                    "conv1x1s2_8x8x24_32", "conv1x1s1_4x4x16_32_add_relu",
                    "global_pool_4x4x32"}));
}

TEST(Partition, EqualBlocksAreOneTaskAndShareSlots) {
  Net net;
  ValueId x = net.conv(net.input({1, 3, 8, 8}), 16, 3, 2);
  for (int block = 0; block < 4; ++block) {
    ValueId a = net.relu(net.conv(x, 16, 3));
    x = net.relu(net.add(Op::Add, {net.conv(a, 16, 3), x}));
  }
  net.outputs({net.globalPool(x)});
  Plan plan;
  labelsOf(net, &plan);
  EXPECT_EQ(plan.steps.size(), 11u);
  // input copy, stem, conv, conv + add, last conv + add (no border), pool
  EXPECT_EQ(plan.tasks.size(), 6u);
  EXPECT_LT(plan.arenaBytes, plan.naiveBytes / 2);
}

TEST(Partition, StemReadsPlainAndPoolReadsZeros) {
  Net net;
  ValueId x = net.input({2, 3, 13, 9});
  ValueId stem = net.relu(net.conv(x, 20, 7, 2));
  ValueId pooled = net.pool(Op::MaxPool, stem, {3, 2, 1, 1, 1});
  net.outputs({net.conv(pooled, 8, 3)});
  Plan plan;
  EXPECT_EQ(labelsOf(net, &plan),
            (Labels{"copy_2x13x9x3_plain_plain", "conv7x7s2_2x13x9x3_20_relu",
                    "max_pool3x3s2_2x7x5x20", "conv3x3s1_2x4x3x20_8",
                    "copy_2x4x3x8_nhwc_plain"}));
  EXPECT_EQ(plan.tasks[2].operands[0].type.text(),
            "f32 nhwc[2,20,7,5]c32 border(1,1,1,1)=0");
}

TEST(Partition, MaxPoolOfNegativesGetsMinusInfinity) {
  Net net;
  ValueId stem = net.conv(net.input({1, 3, 8, 8}), 16, 1);
  ValueId pooled = net.pool(Op::MaxPool, stem, {3, 2, 1, 1, 1});
  // Alone, the pool decides the home's border; beside two convolutions it
  // reads a copy.
  net.outputs({net.globalPool(pooled)});
  Plan plan;
  EXPECT_EQ(labelsOf(net, &plan).size(), 3u);
  EXPECT_EQ(plan.tasks[0].output().type.text(),
            "f32 nhwc[1,16,8,8]c16 border(1,0,1,0)=-inf");

  net.outputs({net.globalPool(pooled), net.globalPool(net.conv(stem, 8, 3)),
               net.globalPool(net.conv(stem, 8, 5))});
  Labels labels = labelsOf(net, &plan);
  EXPECT_EQ(plan.tasks[0].output().type.text(),
            "f32 nhwc[1,16,8,8]c16 border(2,2,2,2)=0");
  EXPECT_EQ(labels[1], "copy_8x8x16_nhwc_nhwc");
}

TEST(Partition, PoolsWithCeilOverhangAndPadding) {
  for (bool includePad : {false, true}) {
    Net net;
    ValueId x = net.conv(net.input({1, 8, 10, 10}), 8, 3);
    ValueId maximum =
        net.pool(Op::MaxPool, net.relu(x), {3, 2, 1, 0, 1}, false, {1, 1});
    ValueId mean = net.pool(Op::AveragePool, x, {3, 2, 1, 1, 1}, includePad);
    ValueId overhang =
        net.pool(Op::AveragePool, x, {3, 2, 1, 0, 1}, includePad, {1, 1});
    net.outputs({net.globalPool(maximum), net.globalPool(mean), overhang});
    labelsOf(net);
  }
}

TEST(Partition, InvertedResidual) {
  Net net;
  auto relu6 = [&net](ValueId x) {
    return net.add(Op::Clip, {x}, ScalarAttributes{0, 6});
  };
  ValueId x = relu6(net.conv(net.input({1, 3, 12, 12}), 16, 3, 2));
  ValueId expanded = relu6(net.conv(x, 40, 1));
  ValueId middle = relu6(net.conv(expanded, 40, 5, 1, 40));
  ValueId sum = net.add(Op::Add, {x, net.conv(middle, 16, 1)});
  ValueId pooled =
      net.reshape(net.globalPool(relu6(net.conv(sum, 24, 1))), {1, 24});
  net.outputs(
      {net.add(Op::Add, {net.add(Op::MatMul, {pooled, net.constant({24, 10})}),
                         net.constant({10})})});
  Plan plan;
  EXPECT_EQ(labelsOf(net, &plan),
            (Labels{"copy_12x12x3_plain_plain", "conv3x3s2_12x12x3_16_clip",
                    "conv1x1s1_6x6x16_40_clip", "dw5x5s1_6x6x40_clip",
                    "conv1x1s1_6x6x40_16_add", "conv1x1s1_6x6x16_24_clip",
                    "global_pool_6x6x24", "matmul_1x24x10"}));
  EXPECT_NE(plan.tasks.back().find(Role::Bias), nullptr);
  EXPECT_EQ(plan.buffers[size_t(plan.steps.back().operands.back())].kind,
            BufferKind::Output);
}

static ValueId squeezeExcite(Net &net, ValueId x) {
  int64_t channels = net.graph.value(x).dims[1];
  ValueId s = net.globalPool(x);
  s = net.add(Op::Swish, {net.conv(s, 4, 1)});
  s = net.add(Op::Sigmoid, {net.conv(s, channels, 1)});
  return net.add(Op::Mul, {x, s});
}

TEST(Partition, SqueezeExciteScalesTheNextConvolution) {
  for (int64_t batch : {1, 2}) {
    Net net;
    ValueId x = net.conv(net.input({batch, 16, 6, 6}), 24, 1);
    ValueId middle = net.add(Op::Swish, {net.conv(x, 24, 3, 1, 24)});
    ValueId out = net.conv(squeezeExcite(net, middle), 8, 1);
    net.outputs({net.globalPool(out)});
    Plan plan;
    Labels labels = labelsOf(net, &plan);
    std::string n = std::to_string(batch);
    std::string image = batch == 1 ? "6x6x" : n + "x6x6x";
    EXPECT_EQ(
        labels,
        (Labels{"copy_" + image + "16_plain_nhwc",
                "conv1x1s1_" + image + "16_24", "dw3x3s1_" + image + "24_swish",
                "global_pool_" + image + "24", "matmul_" + n + "x24x4_swish",
                "matmul_" + n + "x4x24_sigmoid",
                "conv1x1s1_" + image + "24_8_scaled",
                "global_pool_" + image + "8"}));
  }
}

TEST(Partition, SharedProductStaysPointwise) {
  Net net;
  ValueId x = net.conv(net.input({1, 16, 6, 6}), 24, 1);
  ValueId product = squeezeExcite(net, x);
  net.outputs({net.globalPool(net.conv(product, 8, 1)),
               net.globalPool(net.conv(product, 8, 3))});
  Labels labels = labelsOf(net);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "pointwise_6x6x24_mul"),
            1);
}

TEST(Partition, ConcatWritesTheBorderedFormOfItsConsumer) {
  Net net;
  ValueId x = net.relu(net.conv(net.input({1, 8, 7, 7}), 16, 1));
  ValueId joined =
      net.add(Op::Concat, {net.conv(x, 20, 1), net.conv(x, 9, 3), x},
              AxesAttributes{{1}});
  ValueId shortcut = net.conv(joined, 45, 3);
  net.outputs({net.globalPool(net.relu(net.add(Op::Add, {joined, shortcut})))});
  Plan plan;
  Labels labels = labelsOf(net, &plan);
  EXPECT_EQ(labels[4], "concat3_7x7x45");
  EXPECT_EQ(labels[5], "conv3x3s1_7x7x45_45_add_relu");
}

TEST(Partition, DiamondsAreTakenWholeOrNotAtAll) {
  Net net;
  ValueId x = net.conv(net.input({1, 8, 5, 5}), 16, 1);
  // Hard-swish written out: x * clip(x + 3, 0, 6) / 6.
  ValueId gate = net.add(Op::Clip, {net.add(Op::Add, {x, net.scalar(3)})},
                         ScalarAttributes{0, 6});
  ValueId whole =
      net.add(Op::Div, {net.add(Op::Mul, {x, gate}), net.scalar(6)});
  ValueId y = net.conv(whole, 16, 1);
  // Here one leg is an output.
  ValueId leg = net.add(Op::Tanh, {y});
  net.outputs({net.globalPool(net.add(Op::Mul, {y, leg})), leg});
  Labels labels = labelsOf(net);
  EXPECT_EQ(labels[1], "conv1x1s1_5x5x8_16_add_clip_mul_div");
  EXPECT_EQ(labels[2], "conv1x1s1_5x5x16_16");
  EXPECT_EQ(labels[3], "pointwise_5x5x16_tanh");
}

TEST(Partition, MaxAndMinWithAConstantAreClips) {
  Net net;
  ValueId x = net.conv(net.input({1, 8, 5, 5}), 16, 1);
  x = net.add(Op::Max, {net.scalar(-0.5f), x});
  x = net.add(Op::Min, {x, net.scalar(0.25f)});
  net.outputs({net.globalPool(x)});
  Plan plan;
  EXPECT_EQ(labelsOf(net, &plan)[1], "conv1x1s1_5x5x8_16_clip_clip");
  EXPECT_EQ(plan.tasks[1].find(Role::Extra), nullptr);
}

TEST(Partition, OutputsThatNoKernelWrites) {
  Net net;
  ValueId x = net.input({1, 24});
  ValueId y = net.relu(net.add(Op::MatMul, {x, net.constant({24, 12})}));
  ValueId image = net.reshape(y, {1, 3, 2, 2});
  // A value and its view, an input, a constant, the same twice.
  net.outputs({image, y, x, net.constant({3}), y});
  EXPECT_EQ(labelsOf(net),
            (Labels{"matmul_1x24x12_relu", "copy_1x12_plain_plain",
                    "copy_1x24_plain_plain", "copy_3_plain_plain",
                    "copy_1x12_plain_plain"}));
}

TEST(Partition, FlattenOfAnImageIsCopiedOnce) {
  Net net;
  ValueId x = net.conv(net.input({2, 8, 4, 4}), 10, 3);
  ValueId flat = net.reshape(x, {2, 160});
  net.outputs({net.add(Op::Softmax,
                       {net.add(Op::MatMul, {flat, net.constant({160, 6})})},
                       AxesAttributes{{1}})});
  EXPECT_EQ(
      labelsOf(net),
      (Labels{"copy_2x4x4x8_plain_nhwc", "conv3x3s1_2x4x4x8_10",
              "copy_2x4x4x10_nhwc_plain", "matmul_2x160x6", "softmax_2x6"}));
}

TEST(Partition, NormalisationBeforeAPlainStem) {
  Net net;
  ValueId x = net.input({1, 3, 9, 9});
  ValueId y = net.add(Op::Div, {net.add(Op::Sub, {x, net.constant({3, 1, 1})}),
                                net.constant({1, 3, 1, 1})});
  net.outputs({net.globalPool(net.conv(y, 16, 3))});
  EXPECT_EQ(labelsOf(net),
            (Labels{"pointwise_9x9x3_sub_div", "conv3x3s1_9x9x3_16",
                    "global_pool_9x9x16"}));
}

TEST(Partition, RankThreeMatMulAndBroadcasts) {
  Net net;
  ValueId x = net.input({2, 5, 8});
  ValueId y = net.add(Op::MatMul, {x, net.constant({8, 6})});
  y = net.add(Op::Add, {y, net.constant({6})});
  y = net.add(Op::Mul, {y, net.add(Op::Tanh, {net.input({6})})});
  y = net.add(Op::Add, {y, net.input({2, 5, 6})});
  // This one does not broadcast along whole rows: it stays apart.
  y = net.add(Op::Add, {y, net.input({5, 1})});
  net.outputs({y});
  EXPECT_EQ(labelsOf(net), (Labels{"pointwise_6_tanh", "matmul_10x8x6_mul_add",
                                   "pointwise_2x5x6_add"}));
}

TEST(Partition, WholeImageKernelThenMatrix) {
  Net net;
  ValueId x = net.relu(net.conv(net.input({2, 8, 3, 3}), 16, 1));
  Window whole{3, 1, 1, 0, 0};
  ValueId y = net.add(Op::Conv, {x, net.constant({20, 16, 3, 3})},
                      ConvAttributes{{whole, whole}, 1});
  net.outputs({net.conv(net.relu(y), 7, 1)});
  EXPECT_EQ(labelsOf(net),
            (Labels{"copy_2x3x3x8_plain_nhwc", "conv1x1s1_2x3x3x8_16_relu",
                    "conv3x3s1_2x3x3x16_20_relu", "copy_2x1x1x20_nhwc_plain",
                    "matmul_2x20x7"}));
}

TEST(Partition, GroupedAndDilatedConvolutions) {
  Net net;
  ValueId x = net.input({1, 8, 9, 9});
  ValueId y = net.conv(x, 16, 3, 1, 4);
  Window window{3, 2, 2, 2, 1};
  y = net.add(Op::Conv, {y, net.constant({8, 16, 3, 3})},
              ConvAttributes{{window, window}, 1});
  net.outputs({net.conv(y, 16, 3, 1, 8)}); // two filters a channel
  Plan plan;
  EXPECT_EQ(labelsOf(net, &plan)[3], "conv3x3s1g8_4x4x8_16");
}

// Chains of random operators: whatever the shape, the numbers are right.
TEST(Partition, RandomNetworks) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Net net;
    net.random.seed(seed);
    auto pick = [&net](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(net.random);
    };
    std::vector<ValueId> pool{net.input({pick(1, 2), pick(1, 20), 7, 7})};
    for (int i = 0; i < 14; ++i) {
      ValueId x =
          pool[size_t(pick(std::max<int64_t>(0, int64_t(pool.size()) - 4),
                           int64_t(pool.size()) - 1))];
      const Dims dims = net.graph.value(x).dims;
      switch (pick(0, 9)) {
      case 0:
      case 1:
        x = net.conv(x, pick(1, 20), 1 + 2 * pick(0, 1), pick(1, 2));
        break;
      case 2:
        x = net.conv(x, dims[1], 3, 1, dims[1], false);
        break;
      case 3:
        x = net.relu(x);
        break;
      case 4:
        x = net.pool(Op::MaxPool, x, {3, 1, 1, 1, 1});
        break;
      case 5:
        x = net.pool(Op::AveragePool, x, {3, 1, 1, 1, 1}, pick(0, 1));
        break;
      case 6:
        x = net.add(Op::Add, {x, net.constant({dims[1], 1, 1})});
        break;
      case 7:
        x = squeezeExcite(net, x);
        break;
      default:
        for (ValueId other : pool)
          if (net.graph.value(other).dims == dims)
            x = net.add(pick(0, 1) ? Op::Add : Op::Mul, {x, other});
        if (net.graph.value(x).dims == dims && pick(0, 2) == 0)
          x = net.add(Op::Concat, {x, x}, AxesAttributes{{1}});
        if (pick(0, 1))
          x = net.add(Op::Tanh, {x});
        break;
      }
      pool.push_back(x);
    }
    std::vector<ValueId> outputs{pool.back()};
    outputs.push_back(pool[size_t(pick(0, int64_t(pool.size()) - 1))]);
    net.outputs(outputs);
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Sums are in another order than the reference's and products grow.
    labelsOf(net, nullptr, 1e-3f);
    if (HasFailure())
      break;
  }
}

static std::string errorOf(const Net &net) {
  Result<Plan> plan = partition(net.graph, {});
  return plan.ok() ? "partitioned" : plan.error().message;
}

TEST(Partition, RefusalsNameNodeAndOperator) {
  Net net;
  ValueId x = net.input({2, 3, 4});
  net.outputs({net.add(Op::Softmax, {x}, AxesAttributes{{1}})});
  EXPECT_EQ(errorOf(net), "node 'n2': softmax along an axis that is not the "
                          "last is not supported");
}

TEST(Partition, WhatNoFasterKindCoversIsComputed) {
  Net moved;
  ValueId x = moved.input({2, 3, 4});
  ValueId t = moved.add(Op::Transpose, {x}, AxesAttributes{{1, 0, 2}});
  ValueId c = moved.add(Op::Concat, {t, t}, AxesAttributes{{2}});
  ValueId p = moved.add(Op::Pad, {c}, PadAttributes{{0, 1, 0}, {2, 0, -1}, 3});
  moved.outputs({moved.add(Op::ReduceMean, {p}, AxesAttributes{{0, 2}})});
  for (const std::string &label : labelsOf(moved))
    EXPECT_TRUE(label.starts_with("compute_")) << label;

  // One spatial dim, and a window that is computed at run time.
  Net line;
  ValueId y = line.input({1, 4, 9});
  ValueId w = line.input({6, 2, 3});
  Window window{3, 2, 1, 1, 1};
  ValueId conv = line.add(Op::Conv, {y, w}, ConvAttributes{{window}, 2});
  ValueId pool = line.add(Op::AveragePool, {conv},
                          PoolAttributes{{{2, 2, 1, 0, 1}}, false, {1}});
  line.outputs({pool});
  EXPECT_EQ(labelsOf(line).size(), 2u);
}

TEST(Partition, ComputedImagesAreNhwcWhereConvolutionsReadThem) {
  Net net;
  ValueId x = net.conv(net.input({1, 3, 8, 8}), 16, 3);
  ValueId t = net.add(Op::Transpose, {x}, AxesAttributes{{0, 1, 3, 2}});
  net.outputs({net.conv(t, 24, 3)});
  Plan plan;
  labelsOf(net, &plan);
  ASSERT_EQ(plan.steps.size(), 5u); // with copies of input and output
  const Task &compute = plan.tasks[size_t(plan.steps[2].task)];
  EXPECT_EQ(compute.kind, TaskKind::Compute);
  EXPECT_EQ(compute.output().type.text(),
            "f32 nhwc[1,16,8,8]c16 border(1,1,1,1)=0");
  EXPECT_EQ(compute.operands[0].type.layout, Layout::Nhwc);
}

TEST(Partition, ProductsOfRunTimeValues) {
  Net net;
  ValueId q = net.input({2, 3, 5, 4}), k = net.input({2, 3, 7, 4});
  ValueId kt = net.add(Op::Transpose, {k}, AxesAttributes{{0, 1, 3, 2}});
  ValueId scores = net.add(Op::MatMul, {q, kt});
  ValueId scaled = net.add(Op::Mul, {scores, net.scalar(0.5f)});
  net.outputs({net.add(Op::Add, {scaled, net.constant({5, 7})})});
  EXPECT_EQ(labelsOf(net),
            (std::vector<std::string>{"batch_matmul_6x5x4x7t_mul_add"}));

  // One matrix for all, and a batch that broadcasts in part.
  Net shared;
  ValueId a = shared.input({2, 3, 5, 4});
  ValueId one = shared.add(Op::MatMul, {a, shared.input({4, 6})});
  shared.outputs({shared.add(Op::MatMul, {one, shared.input({2, 1, 6, 2})})});
  std::vector<std::string> labels = labelsOf(shared);
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0], "batch_matmul_6x5x4x6");
  EXPECT_TRUE(labels[1].starts_with("compute_")) << labels[1];
}

TEST(Partition, ValuesWithoutElementsNeedNoStep) {
  Net net;
  ValueId x = net.input({0, 3}), y = net.input({2, 3});
  ValueId r = net.relu(x);
  net.outputs({r, net.add(Op::Concat, {r, y}, AxesAttributes{{0}})});
  EXPECT_EQ(labelsOf(net).size(), 1u);
}
