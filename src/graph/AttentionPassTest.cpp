//===- AttentionPassTest.cpp - the forms in which attention is written ----===//

#include "base/Computation.h"
#include "graph/SimplifyFixture.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tlm;

namespace {

constexpr int64_t kTokens = 6, kHeads = 2, kDepth = 10, kWidth = 20;

class AttentionPass : public SimplifyFixture {
protected:
  AttentionPass() : SimplifyFixture({0.2f, 1, 0.9f, 2e-5f}) {}

  ValueId constant(Dims dims, float from = 0.0f) {
    return SimplifyFixture::constant(std::move(dims), from);
  }
  ValueId project(ValueId v, int64_t columns = kWidth) {
    ValueId product =
        add(Op::MatMul, {v, constant({graph.value(v).dims.back(), columns})});
    return add(Op::Add, {product, constant({columns}, 0.1f)});
  }
  ValueId transpose(ValueId v, std::vector<int64_t> order) {
    return add(Op::Transpose, {v}, AxesAttributes{std::move(order)});
  }
  ValueId scaled(ValueId v, float by) { return add(Op::Mul, {v, scalar(by)}); }
  ValueId softmax(ValueId v) {
    int64_t last = int64_t(graph.value(v).dims.size()) - 1;
    return add(Op::Softmax, {v}, AxesAttributes{{last}});
  }

  /// [1,heads,S,depth] of a projection of x.
  ValueId heads(int64_t depth = kDepth) {
    ValueId split =
        reshape(project(x, kHeads * depth), {1, kTokens, kHeads, depth});
    return transpose(split, {0, 2, 1, 3});
  }
  /// The same as [heads,S,depth].
  ValueId headBatch() { return reshape(heads(), {kHeads, kTokens, kDepth}); }
  ValueId keys() { return transpose(heads(), {0, 1, 3, 2}); }
  ValueId scores() { return scaled(add(Op::MatMul, {heads(), keys()}), 0.5f); }
  ValueId scoreBatch() {
    return add(Op::MatMul, {headBatch(), transpose(headBatch(), {0, 2, 1})});
  }
  ValueId merged(ValueId result) {
    const Dims dims = graph.value(result).dims;
    int64_t depth = dims.back();
    if (dims.size() == 3)
      result = reshape(result, {1, kHeads, kTokens, depth});
    return project(
        reshape(transpose(result, {0, 2, 1, 3}), {1, kTokens, kHeads * depth}));
  }
  /// The network over these scores, of rank 4 or 3.
  void finishScores(ValueId scores) {
    ValueId v = graph.value(scores).dims.size() == 3 ? headBatch() : heads();
    finish(merged(add(Op::MatMul, {softmax(scores), v})));
  }

  /// select(condition, scores, low), or the other way round.
  ValueId select(ValueId condition, ValueId scores, double low, bool keeps) {
    const Dims dims = graph.value(scores).dims;
    const Dims small = graph.value(condition).dims;
    ComputationBuilder c(dims);
    std::vector<ComputationBuilder::Node> all, some;
    for (size_t d = 0; d < dims.size(); ++d) {
      all.push_back(c.loop(d));
      some.push_back(small[d] == 1 ? c.integer(0) : c.loop(d));
    }
    auto is = c.load(0, DType::F32, some);
    auto holds = c.op(Scalar::Less, {is, c.real(0.3)});
    auto kept = c.load(1, DType::F32, all), lowest = c.real(low);
    return add(Op::Compute, {condition, scores},
               c.finish(c.select(holds, keeps ? kept : lowest,
                                 keeps ? lowest : kept)));
  }

  int64_t count(Op op) const {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [op](const Node &n) { return n.op == op; });
  }
  /// The one Attention, which has taken everything between the projections.
  const Node &attention(size_t inputs) const {
    EXPECT_EQ(count(Op::Attention), 1);
    EXPECT_EQ(count(Op::Softmax), 0);
    EXPECT_EQ(count(Op::Transpose), 0);
    const Node &node =
        *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                      [](const Node &n) { return n.op == Op::Attention; });
    EXPECT_EQ(node.inputs.size(), inputs);
    return node;
  }
  const Dims &maskDims() const {
    return graph.value(attention(4).inputs[3]).dims;
  }
  float scale() const {
    return std::get<AttentionAttributes>(attention(3).attributes).scale;
  }

  ValueId x = builder.addInput("x", DType::F32, {1, kTokens, kWidth});
};

} // namespace

TEST_F(AttentionPass, HeadsOfAnySize) {
  finishScores(scores());
  EXPECT_EQ(scale(), 0.5f);
}

TEST_F(AttentionPass, ScaleOnQueriesAndKeys) {
  ValueId q = scaled(heads(), 0.5f), k = scaled(keys(), 0.25f);
  finishScores(scaled(add(Op::MatMul, {q, k}), 2));
  EXPECT_EQ(scale(), 0.25f);
}

TEST_F(AttentionPass, HeadsAsABatch) {
  finishScores(scoreBatch());
  EXPECT_EQ(graph.value(attention(3).inputs[0]).dims,
            (Dims{1, kTokens, kWidth}));
}

TEST_F(AttentionPass, MaskBetweenReshapesUnderAMaximum) {
  ValueId s = reshape(scoreBatch(), {1, kHeads, kTokens, kTokens});
  ValueId mask = builder.addInput("mask", DType::F32, {1, 1, kTokens, kTokens});
  s = add(Op::Max, {add(Op::Add, {s, mask}), scalar(-3e38f)});
  finishScores(reshape(s, {kHeads, kTokens, kTokens}));
  EXPECT_EQ(maskDims(), (Dims{1, 1, kTokens, kTokens}));
}

TEST_F(AttentionPass, BiasAndSelectionOfOneShape) {
  ValueId s = add(Op::Add, {constant({kHeads, 1, kTokens}), scoreBatch()});
  s = reshape(s, {1, kHeads, kTokens, kTokens});
  s = select(constant({1, 1, kTokens, kTokens}), s, -1e30, true);
  finishScores(s);
  EXPECT_EQ(maskDims(), (Dims{1, kHeads, kTokens, kTokens}));
  EXPECT_TRUE(graph.value(attention(4).inputs[3]).isConstant());
}

TEST_F(AttentionPass, SelectionOfKeysStaysSmall) {
  ValueId keep = builder.addInput("keep", DType::F32, {1, 1, 1, kTokens});
  // As exporters write it: the condition is expanded first.
  ComputationBuilder c({1, kHeads, kTokens, kTokens});
  auto zero = c.integer(0);
  ValueId wide =
      add(Op::Compute, {keep},
          c.finish(c.load(0, DType::F32, {zero, zero, zero, c.loop(3)})));
  finishScores(select(wide, scores(), -1e30, false));
  EXPECT_EQ(maskDims(), (Dims{1, 1, 1, kTokens}));
}

TEST_F(AttentionPass, SelectionThatReadsTheScoresStays) {
  ValueId s = scores();
  finishScores(select(s, s, -1e30, true));
  EXPECT_EQ(count(Op::Attention), 0);
}

TEST_F(AttentionPass, ValuesOfAnotherSize) {
  ValueId p = softmax(scores());
  finish(merged(add(Op::MatMul, {p, heads(14)})));
  EXPECT_EQ(graph.value(attention(3).outputs[0]).dims,
            (Dims{1, kTokens, kHeads * 14}));
}

TEST_F(AttentionPass, BatchOfMatricesHasNoHeads) {
  ValueId q = constant({3, 4, 7}),
          v = builder.addInput("v", DType::F32, {3, 5, 7});
  ValueId s = add(Op::MatMul, {q, transpose(v, {0, 2, 1})});
  finish(add(Op::MatMul, {softmax(s), v}));
  EXPECT_EQ(graph.value(attention(3).inputs[1]).dims, (Dims{3, 5, 7}));
}

/// Windows of two images: a bias for each head and a mask for each window.
TEST_F(AttentionPass, WindowsWithBiasAndMask) {
  constexpr int64_t kWindows = 3, kBatch = 2 * kWindows;
  ValueId y = builder.addInput("y", DType::F32, {kBatch, 4, kHeads * 8});
  auto split = [&](std::vector<int64_t> order) {
    return transpose(reshape(project(y, kHeads * 8), {kBatch, 4, kHeads, 8}),
                     std::move(order));
  };
  ValueId s = add(Op::MatMul, {split({0, 2, 1, 3}), split({0, 2, 3, 1})});
  s = add(Op::Add, {s, constant({1, kHeads, 4, 4})});
  s = reshape(s, {2, kWindows, kHeads, 4, 4});
  s = add(Op::Add, {s, constant({2, kWindows, 1, 4, 4})});
  s = reshape(s, {kBatch, kHeads, 4, 4});
  ValueId r = add(Op::MatMul, {softmax(s), split({0, 2, 1, 3})});
  finish(reshape(transpose(r, {0, 2, 1, 3}), {kBatch, 4, kHeads * 8}));
  EXPECT_EQ(maskDims(), (Dims{kBatch, kHeads, 4, 4}));
}

TEST_F(AttentionPass, MaskThatTheBatchRepeatsInPartStays) {
  ValueId y = builder.addInput("y", DType::F32, {6, kHeads, 4, 8});
  ValueId s = add(Op::MatMul, {y, transpose(y, {0, 1, 3, 2})});
  s = reshape(s, {2, 3, kHeads, 4, 4});
  s = add(Op::Add, {s, constant({1, 3, 1, 4, 4})});
  s = reshape(s, {6, kHeads, 4, 4});
  finish(add(Op::MatMul, {softmax(s), y}));
  EXPECT_EQ(count(Op::Attention), 0);
}

TEST_F(AttentionPass, LayersShareTheirMask) {
  ValueId mask = builder.addInput("mask", DType::F32, {1, 1, 1, kTokens});
  for (int layer = 0; layer < 2; ++layer) {
    ValueId s = add(Op::Add, {scores(), mask});
    s = add(Op::Max, {s, scalar(-3e38f)});
    x = merged(add(Op::MatMul, {softmax(s), heads()}));
  }
  finish(x);
  EXPECT_EQ(count(Op::Attention), 2);
  EXPECT_EQ(count(Op::Max), 1);
}

TEST_F(AttentionPass, MaskUnderAScaleStays) {
  ValueId masked = add(Op::Add, {scores(), constant({1, 1, 1, kTokens})});
  finishScores(scaled(masked, 0.5f));
  EXPECT_EQ(count(Op::Attention), 0);
}
