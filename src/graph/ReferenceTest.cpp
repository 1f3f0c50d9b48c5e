#include "graph/Reference.h"

#include "graph/GraphBuilder.h"
#include "graph/reference/Kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace tlm;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor randomTensor(Dims dims, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor tensor{dims, std::vector<float>(size_t(countOf(dims)))};
  for (float &value : tensor.data)
    value = uniform(engine);
  return tensor;
}

Tensor run(Op op, const std::vector<Tensor> &inputs, const Dims &dims,
           OpAttributes attributes = {}, int threads = 2) {
  std::vector<TensorView> views(inputs.begin(), inputs.end());
  return reference::evaluate(op, attributes, views, dims, threads);
}

float unary(Op op, float x, ScalarAttributes s = {}) {
  return run(op, {{{1}, {x}}}, {1}, s).data[0];
}

/// The definition, in double.
Tensor naiveConv(const Tensor &x, const Tensor &w, const Tensor &b,
                 const ConvAttributes &a) {
  Window h = a.windows[0], v = a.windows[1];
  int64_t H = x.dims[2], W = x.dims[3], F = w.dims[0], C = w.dims[1];
  Dims dims{x.dims[0], F, h.outputExtent(H), v.outputExtent(W)};
  Tensor y{dims, {}};
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t f = 0; f < F; ++f)
      for (int64_t oh = 0; oh < dims[2]; ++oh)
        for (int64_t ow = 0; ow < dims[3]; ++ow) {
          double sum = b.data[size_t(f)];
          for (int64_t c = 0; c < C; ++c)
            for (int64_t kh = 0; kh < h.kernel; ++kh)
              for (int64_t kw = 0; kw < v.kernel; ++kw) {
                int64_t i = oh * h.stride - h.padBegin + kh * h.dilation;
                int64_t j = ow * v.stride - v.padBegin + kw * v.dilation;
                if (i < 0 || i >= H || j < 0 || j >= W)
                  continue;
                int64_t channel = f / (F / a.groups) * C + c;
                int64_t at = ((n * x.dims[1] + channel) * H + i) * W + j;
                int64_t tap = ((f * C + c) * h.kernel + kh) * v.kernel + kw;
                sum += double(x.data[size_t(at)]) * double(w.data[size_t(tap)]);
              }
          y.data.push_back(float(sum));
        }
  return y;
}

void expectNear(const Tensor &found, const Tensor &expected, float tolerance) {
  ASSERT_EQ(found.dims, expected.dims);
  for (size_t i = 0; i < found.data.size(); ++i)
    ASSERT_NEAR(found.data[i], expected.data[i], tolerance) << "element " << i;
}

TEST(ReferenceConv, AgreesWithTheDefinition) {
  struct Case {
    Dims x;
    int64_t filters, groups;
    Window h, w;
  };
  for (const Case &c : std::vector<Case>{
           {{1, 3, 9, 11}, 5, 1, {3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}},
           {{2, 4, 7, 8}, 6, 2, {3, 2, 1, 0, 1}, {2, 3, 1, 1, 0}},
           {{1, 6, 10, 10}, 6, 6, {5, 2, 1, 2, 2}, {5, 2, 1, 2, 2}},
           {{1, 4, 12, 9}, 8, 4, {3, 3, 2, 4, 1}, {1, 2, 1, 0, 0}},
           {{1, 2, 6, 6}, 3, 1, {6, 1, 1, 0, 0}, {3, 1, 2, 3, 5}},
           {{1, 40, 45, 40}, 4, 1, {1, 1, 1, 0, 0}, {1, 1, 1, 0, 0}}}) {
    ConvAttributes a{{c.h, c.w}, c.groups};
    Tensor x = randomTensor(c.x, 1);
    Tensor w =
        randomTensor({c.filters, c.x[1] / c.groups, c.h.kernel, c.w.kernel}, 2);
    Tensor b = randomTensor({c.filters}, 3);
    Tensor expected = naiveConv(x, w, b, a);
    expectNear(run(Op::Conv, {x, w, b}, expected.dims, a), expected, 2e-6f);
  }
}

TEST(ReferenceConv, OneSpatialDim) {
  ConvAttributes a{{{2, 1, 1, 1, 0}}, 1};
  Tensor y = run(Op::Conv, {{{1, 1, 3}, {1, 2, 3}}, {{1, 1, 2}, {10, 1}}},
                 {1, 1, 3}, a);
  EXPECT_EQ(y.data, (std::vector<float>{1, 12, 23}));
}

TEST(ReferenceConv, AnyThreadCountGivesTheSameBits) {
  ConvAttributes a{{{3, 1, 1, 1, 1}, {3, 1, 1, 1, 1}}, 1};
  Tensor x = randomTensor({1, 50, 14, 14}, 1);
  Tensor w = randomTensor({37, 50, 3, 3}, 2);
  Tensor one = run(Op::Conv, {x, w}, {1, 37, 14, 14}, a, 1);
  EXPECT_EQ(run(Op::Conv, {x, w}, {1, 37, 14, 14}, a, 5).data, one.data);
}

TEST(ReferenceMatMul, LongSumsStayExact) {
  int64_t K = 4096;
  Tensor a = randomTensor({1, K}, 1), b = randomTensor({K, 3}, 2);
  Tensor y = run(Op::MatMul, {a, b}, {1, 3});
  for (int64_t n = 0; n < 3; ++n) {
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < K; ++k) {
      double term = double(a.data[size_t(k)]) * b.data[size_t(k * 3 + n)];
      sum += term;
      magnitude += std::fabs(term);
    }
    EXPECT_NEAR(y.data[size_t(n)], sum, magnitude * 1e-7);
  }
}

TEST(ReferenceMatMul, BroadcastsBatches) {
  Tensor a{{2, 1, 1, 2}, {1, 2, 3, 4}}, b{{3, 2, 1}, {1, 0, 0, 1, 1, 1}};
  Tensor y = run(Op::MatMul, {a, b}, {2, 3, 1, 1});
  EXPECT_EQ(y.data, (std::vector<float>{1, 2, 3, 3, 4, 7}));
}

TEST(ReferenceMatMul, EmptySumIsZero) {
  Tensor y = run(Op::MatMul, {{{2, 0}, {}}, {{0, 3}, {}}}, {2, 3});
  EXPECT_EQ(y.data, std::vector<float>(6, 0.0f));
}

TEST(ReferenceMaxPool, NanPropagatesFromEveryPosition) {
  PoolAttributes a{{{3, 1, 1, 0, 0}}, false, {0}};
  for (size_t position = 0; position < 3; ++position) {
    Tensor x{{1, 1, 3}, {1, 2, 3}};
    x.data[position] = kNan;
    EXPECT_TRUE(std::isnan(run(Op::MaxPool, {x}, {1, 1, 1}, a).data[0]));
  }
}

TEST(ReferenceMaxPool, PaddingNeverWins) {
  PoolAttributes a{{{3, 2, 1, 1, 1}}, false, {0}};
  Tensor y = run(Op::MaxPool, {{{1, 1, 4}, {-5, -4, -3, -2}}}, {1, 1, 2}, a);
  EXPECT_EQ(y.data, (std::vector<float>{-4, -2}));
}

TEST(ReferenceAveragePool, DivisorCountsWhatItShould) {
  Tensor x{{1, 1, 4}, {1, 2, 3, 4}};
  // Ceil mode: the last window has one element and overhangs by one.
  PoolAttributes a{{{2, 2, 1, 1, 1}}, false, {1}};
  EXPECT_EQ(run(Op::AveragePool, {x}, {1, 1, 3}, a).data,
            (std::vector<float>{1, 2.5f, 4}));
  a.countIncludePad = true; // counts the padding in front, not the overhang
  EXPECT_EQ(run(Op::AveragePool, {x}, {1, 1, 3}, a).data,
            (std::vector<float>{0.5f, 2.5f, 4}));
}

TEST(ReferenceReduceMean, AnyAxes) {
  Tensor x{{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(run(Op::ReduceMean, {x}, {1, 2, 1}, AxesAttributes{{0, 2}}).data,
            (std::vector<float>{3.5f, 5.5f}));
  EXPECT_EQ(run(Op::ReduceMean, {x}, {2, 1, 2}, AxesAttributes{{1}}).data,
            (std::vector<float>{2, 3, 6, 7}));
}

TEST(ReferenceSoftmax, LargeValuesAndMaskedRow) {
  Tensor x{{2, 2}, {1000, 1000, -kInf, -kInf}};
  Tensor y = run(Op::Softmax, {x}, {2, 2}, AxesAttributes{{1}});
  EXPECT_EQ(y.data[0], 0.5f);
  EXPECT_TRUE(std::isnan(y.data[2])) << "as the plain definition says";
  y = run(Op::Softmax, {x}, {2, 2}, AxesAttributes{{0}});
  EXPECT_EQ(y.data, (std::vector<float>{1, 1, 0, 0}));
}

TEST(ReferenceMove, TransposeConcatPad) {
  Tensor x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(run(Op::Transpose, {x}, {3, 2}, AxesAttributes{{1, 0}}).data,
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  Tensor one{{2, 1}, {7, 8}};
  EXPECT_EQ(run(Op::Concat, {x, one}, {2, 4}, AxesAttributes{{1}}).data,
            (std::vector<float>{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(run(Op::Pad, {x}, {1, 4}, PadAttributes{{-1, 1}, {0, 0}, 9}).data,
            (std::vector<float>{9, 4, 5, 6}));
}

TEST(ReferencePointwise, HandValues) {
  EXPECT_EQ(unary(Op::Relu, -2), 0);
  EXPECT_EQ(unary(Op::Clip, 7, {0, 6}), 6);
  EXPECT_EQ(unary(Op::Clip, 1, {3, 2}), 2) << "min > max yields max";
  EXPECT_FLOAT_EQ(unary(Op::Sigmoid, 0), 0.5f);
  EXPECT_FLOAT_EQ(unary(Op::Swish, 1), 1 / (1 + std::exp(-1.0f)));
  EXPECT_FLOAT_EQ(unary(Op::HardSigmoid, 1, {0.2f, 0.5f}), 0.7f);
  EXPECT_FLOAT_EQ(unary(Op::HardSwish, 1), 4.0f / 6);
  EXPECT_EQ(unary(Op::HardSwish, -3), 0);
  EXPECT_EQ(unary(Op::LeakyRelu, -2, {0.5f, 0}), -1);
  EXPECT_FLOAT_EQ(unary(Op::Elu, -1, {2, 0}), 2 * std::expm1(-1.0f));
  EXPECT_FLOAT_EQ(unary(Op::Erf, 0.5f), std::erf(0.5f));
  EXPECT_EQ(unary(Op::Sigmoid, -kInf), 0);
}

TEST(ReferencePointwise, NanPropagates) {
  for (Op op : {Op::Relu, Op::Clip, Op::HardSigmoid, Op::HardSwish, Op::Swish,
                Op::Sigmoid, Op::LeakyRelu, Op::Elu, Op::Tanh})
    EXPECT_TRUE(std::isnan(unary(op, kNan, {0, 6}))) << nameOf(op);
  Tensor nan{{1}, {kNan}}, one{{1}, {1}};
  for (Op op : {Op::Max, Op::Min}) {
    EXPECT_TRUE(std::isnan(run(op, {nan, one}, {1}).data[0]));
    EXPECT_TRUE(std::isnan(run(op, {one, nan}, {1}).data[0]));
  }
}

TEST(ReferencePointwise, BroadcastsBothWays) {
  Tensor a{{2, 1}, {10, 20}}, b{{3}, {1, 2, 3}}, scalar{{}, {5}};
  EXPECT_EQ(run(Op::Sub, {a, b}, {2, 3}).data,
            (std::vector<float>{9, 8, 7, 19, 18, 17}));
  EXPECT_EQ(run(Op::Add, {scalar, scalar}, {}).data, (std::vector<float>{10}));
}

/// y = relu(x) * 2, z = -y
Graph smallGraph() {
  Graph graph;
  GraphBuilder builder(graph);
  ValueId x = builder.addInput("x", DType::F32, {2});
  ValueId two = builder.addConstant("two", {}, {2});
  ValueId r = *builder.add(Op::Relu, {x}, {}, "r", "relu");
  ValueId y = *builder.add(Op::Mul, {r, two}, {}, "y", "mul");
  graph.outputs = {*builder.add(Op::Neg, {y}, {}, "z", "neg")};
  return graph;
}

TEST(RunReference, ReturnsOutputsAndVisitsEveryValue) {
  Graph graph = smallGraph();
  std::vector<std::string> visited;
  ReferenceOptions options;
  options.visit = [&](ValueId id, const Tensor &) {
    visited.push_back(graph.value(id).name);
  };
  auto result = runReference(graph, {{{2}, {-1, 3}}}, options);
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)[0].data, (std::vector<float>{0, -6}));
  EXPECT_EQ(visited, (std::vector<std::string>{"r", "y", "z"}));
}

TEST(RunReference, ReturnsWantedValues) {
  Graph graph = smallGraph();
  ReferenceOptions options;
  options.wanted = {2, 0, 1};
  auto result = runReference(graph, {{{2}, {-1, 3}}}, options);
  ASSERT_TRUE(result);
  EXPECT_EQ((*result)[0].data, (std::vector<float>{0, 3}));
  EXPECT_EQ((*result)[1].data, (std::vector<float>{-1, 3}));
  EXPECT_EQ((*result)[2].data, (std::vector<float>{2}));
}

TEST(RunReference, RefusesWrongInputs) {
  Graph graph = smallGraph();
  EXPECT_FALSE(runReference(graph, {}));
  auto result = runReference(graph, {{{3}, {1, 2, 3}}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("f32[2]"), std::string::npos);
}

TEST(RunReference, RefusesWhatMemoryCannotHold) {
  Graph graph;
  GraphBuilder builder(graph);
  ValueId x = builder.addInput("x", DType::F32, {1, 1});
  graph.outputs = {*builder.add(Op::Pad, {x},
                                PadAttributes{{0, 0}, {0, int64_t(1) << 40}, 0},
                                "y", "pad")};
  auto result = runReference(graph, {{{1, 1}, {1}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Machine);
}

TEST(ReferenceCost, GrowsWithTheRank) {
  Dims flat{1 << 20}, deep(64, 1);
  std::fill_n(deep.begin(), 20, 2);
  for (Op op : {Op::Add, Op::Exp, Op::Pad, Op::Transpose}) {
    std::vector<Dims> flats{flat, flat}, deeps{deep, deep};
    EXPECT_GE(reference::costOf(op, {}, deeps, deep),
              20 * reference::costOf(op, {}, flats, flat));
  }
}

} // namespace
