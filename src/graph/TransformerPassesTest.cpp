#include "base/Computation.h"
#include "graph/SimplifyFixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

/// Small transformer pieces, run before and after simplifying.
class TransformerPasses : public SimplifyFixture {
protected:
  TransformerPasses() : SimplifyFixture({0.2f, 1, 0.9f, 2e-5f}) {}

  ValueId constant(Dims dims, float from = 0.0f) {
    return SimplifyFixture::constant(std::move(dims), from);
  }
  ValueId project(ValueId v, int64_t columns) {
    ValueId product =
        add(Op::MatMul, {v, constant({graph.value(v).dims.back(), columns})});
    return add(Op::Add, {product, constant({columns}, 0.1f)});
  }
  ValueId transpose(ValueId v, std::vector<int64_t> order) {
    return add(Op::Transpose, {v}, AxesAttributes{std::move(order)});
  }

  int64_t count(Op op) const {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [op](const Node &n) { return n.op == op; });
  }
  const Node &only(Op op) const {
    EXPECT_EQ(count(op), 1) << nameOf(op);
    return *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                         [op](const Node &n) { return n.op == op; });
  }

  ValueId x = builder.addInput("x", DType::F32, {1, 6, 32});
};

} // namespace

TEST_F(TransformerPasses, GeluByErf) {
  ValueId gate =
      add(Op::Add,
          {add(Op::Erf, {add(Op::Div, {x, scalar(1.41421354f)})}), scalar(1)});
  finish(add(Op::Mul, {add(Op::Mul, {x, gate}), scalar(0.5f)}));
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(only(Op::Gelu).inputs.size(), 1u);
}

TEST_F(TransformerPasses, GeluByTanh) {
  ValueId cube = add(Op::Mul, {add(Op::Mul, {x, x}), x});
  ValueId inner = add(Op::Add, {x, add(Op::Mul, {cube, scalar(0.044715f)})});
  ValueId t = add(Op::Tanh, {add(Op::Mul, {inner, scalar(0.7978846f)})});
  finish(add(Op::Mul,
             {add(Op::Mul, {x, scalar(0.5f)}), add(Op::Add, {t, scalar(1)})}));
  EXPECT_EQ(graph.nodes.size(), 1u);
  only(Op::GeluTanh);
}

TEST_F(TransformerPasses, ErfWithAnotherScaleStays) {
  ValueId gate = add(
      Op::Add, {add(Op::Erf, {add(Op::Div, {x, scalar(1.5f)})}), scalar(1)});
  finish(add(Op::Mul, {add(Op::Mul, {x, gate}), scalar(0.5f)}));
  EXPECT_EQ(count(Op::Gelu), 0);
}

TEST_F(TransformerPasses, LayerNorm) {
  AxesAttributes last{{2}};
  ValueId c = add(Op::Sub, {x, add(Op::ReduceMean, {x}, last)});
  ValueId variance = add(Op::ReduceMean, {add(Op::Mul, {c, c})}, last);
  ValueId root = add(Op::Sqrt, {add(Op::Add, {variance, scalar(1e-5f)})});
  ValueId y = add(Op::Mul, {add(Op::Div, {c, root}), constant({32}, 1)});
  finish(add(Op::Add, {y, constant({32})}));
  EXPECT_EQ(graph.nodes.size(), 1u);
  const Node &norm = only(Op::LayerNorm);
  EXPECT_EQ(norm.inputs.size(), 3u);
  EXPECT_EQ(std::get<NormAttributes>(norm.attributes).epsilon, 1e-5f);
}

TEST_F(TransformerPasses, RmsNormOfAnOddLength) {
  ValueId y = project(x, 13);
  ValueId mean =
      add(Op::ReduceMean, {add(Op::Mul, {y, y})}, AxesAttributes{{2}});
  ValueId root = add(Op::Sqrt, {add(Op::Add, {mean, scalar(1e-6f)})});
  finish(add(Op::Div, {y, root}));
  only(Op::RmsNorm);
}

TEST_F(TransformerPasses, RmsNormWithScaleInFront) {
  ValueId mean =
      add(Op::ReduceMean, {add(Op::Mul, {x, x})}, AxesAttributes{{2}});
  ValueId root = add(Op::Sqrt, {add(Op::Add, {mean, scalar(1e-6f)})});
  ValueId inverse = add(Op::Div, {scalar(1), root});
  finish(add(Op::Mul, {constant({32}, 1), add(Op::Mul, {x, inverse})}));
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(only(Op::RmsNorm).inputs.size(), 2u);
}

TEST_F(TransformerPasses, BertAttention) {
  auto heads = [&](ValueId v) {
    return transpose(reshape(v, {1, 6, 2, 16}), {0, 2, 1, 3});
  };
  ValueId mask = builder.addInput("mask", DType::F32, {1, 1, 1, 6});
  ValueId q = heads(project(x, 32)), v = heads(project(x, 32));
  ValueId k = transpose(reshape(project(x, 32), {1, 6, 2, 16}), {0, 2, 3, 1});
  ValueId scores = add(Op::Div, {add(Op::MatMul, {q, k}), scalar(4)});
  ValueId p =
      add(Op::Softmax, {add(Op::Add, {scores, mask})}, AxesAttributes{{3}});
  ValueId merged = transpose(add(Op::MatMul, {p, v}), {0, 2, 1, 3});
  finish(project(reshape(merged, {1, 6, 32}), 32));
  const Node &attention = only(Op::Attention);
  auto shape = std::get<AttentionAttributes>(attention.attributes);
  EXPECT_EQ(shape.heads, 2);
  EXPECT_EQ(shape.scale, 0.25f);
  EXPECT_EQ(attention.inputs.size(), 4u);
  EXPECT_EQ(count(Op::Transpose), 0);
  EXPECT_EQ(count(Op::Softmax), 0);
}

TEST_F(TransformerPasses, GptAttentionSplitsItsProjection) {
  ValueId qkv = reshape(project(reshape(x, {6, 32}), 96), {1, 6, 96});
  auto part = [&](int64_t i) {
    return add(Op::Pad, {qkv},
               PadAttributes{{0, 0, -32 * i}, {0, 0, -32 * (2 - i)}, 0});
  };
  auto split = [&](ValueId v) { return reshape(v, {1, 6, 2, 16}); };
  ValueId q = transpose(split(part(0)), {0, 2, 1, 3});
  ValueId k = transpose(split(part(1)), {0, 2, 3, 1});
  ValueId v = transpose(split(part(2)), {0, 2, 1, 3});
  ValueId scores = add(Op::Div, {add(Op::MatMul, {q, k}), scalar(4)});

  // where(causal, scores, -3.4e38), as the importer writes it.
  Tensor causal = Tensor::make(DType::Bool, {1, 1, 6, 6});
  for (size_t i = 0; i < 36; ++i)
    causal.bytes[i] = std::byte(i % 6 <= i / 6);
  ValueId condition = builder.addConstant("causal", DType::Bool, causal.dims,
                                          makeConstant(causal));
  ComputationBuilder c({1, 2, 6, 6});
  auto zero = c.integer(0);
  auto keep = c.load(0, DType::Bool, {zero, zero, c.loop(2), c.loop(3)});
  auto score =
      c.load(1, DType::F32, {c.loop(0), c.loop(1), c.loop(2), c.loop(3)});
  auto low = c.load(2, DType::F32, {});
  ValueId masked = add(Op::Compute, {condition, scores, scalar(-3.4e38f)},
                       c.finish(c.select(keep, score, low)));
  ValueId p = add(Op::Softmax, {masked}, AxesAttributes{{3}});
  ValueId merged = transpose(add(Op::MatMul, {p, v}), {0, 2, 1, 3});
  finish(project(reshape(merged, {6, 32}), 32));
  only(Op::Attention);
  EXPECT_EQ(count(Op::MatMul), 4);
  EXPECT_EQ(count(Op::Pad), 0);
  EXPECT_EQ(count(Op::Transpose), 0);
  EXPECT_EQ(count(Op::Compute), 0);
}

TEST_F(TransformerPasses, HeadsThatStayApart) {
  // Rotary embeddings and the like make Q head by head.
  ValueId q = add(
      Op::Mul, {transpose(reshape(project(x, 32), {1, 6, 2, 16}), {0, 2, 1, 3}),
                constant({6, 16}, 1)});
  ValueId k = transpose(q, {0, 1, 3, 2});
  ValueId p = add(Op::Softmax, {add(Op::MatMul, {q, k})}, AxesAttributes{{3}});
  finish(add(Op::MatMul, {p, q}));
  const Node &attention = only(Op::Attention);
  EXPECT_EQ(graph.value(attention.inputs[0]).dims.size(), 4u);
}

TEST_F(TransformerPasses, ProbabilitiesThatAreSeenStay) {
  ValueId q = transpose(reshape(x, {1, 6, 2, 16}), {0, 2, 1, 3});
  ValueId k = transpose(q, {0, 1, 3, 2});
  ValueId p = add(Op::Softmax, {add(Op::MatMul, {q, k})}, AxesAttributes{{3}});
  ValueId y = add(Op::MatMul, {p, q});
  ValueId sum = add(Op::ReduceMean, {p}, AxesAttributes{{3}});
  finish(add(Op::Mul, {y, sum}));
  EXPECT_EQ(count(Op::Attention), 0);
}
