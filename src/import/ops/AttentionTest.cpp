#include "import/OnnxTestModel.h"

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

OnnxTestModel attention(const std::vector<Dims> &operands,
                        std::vector<Attr> attributes = {}) {
  OnnxTestModel model(24);
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    model.input(names.back(), operands[i]);
  }
  model.node("Attention", names, {"y"}, std::move(attributes)).output("y");
  return model;
}

} // namespace

TEST(ImportAttention, CausalRowsSeeTheirPast) {
  Dims one = {1, 1, 2, 1};
  Tensor zeros{one, {0, 0}};
  auto y = attention({one, one, one}, {{"is_causal", 1}})
               .run({zeros, zeros, iota(one, 1)});
  EXPECT_EQ(y[0].data, (Floats{1, 1.5f}));
}

TEST(ImportAttention, FullyMaskedRowsAreZero) {
  Dims one = {1, 1, 2, 1};
  Tensor zeros{one, {0, 0}};
  float infinity = std::numeric_limits<float>::infinity();
  Tensor mask{{2, 2}, {-infinity, -infinity, 0, -infinity}};
  auto y = attention({one, one, one, {2, 2}})
               .run({zeros, zeros, iota(one, 1), mask});
  EXPECT_EQ(y[0].data, (Floats{0, 1}));
}

TEST(ImportAttention, GroupsOfHeadsShareKeys) {
  Dims q = {1, 2, 1, 1}, k = {1, 1, 2, 1};
  auto y = attention({q, k, k}).run({{q, {0, 0}}, {k, {0, 0}}, iota(k, 1)});
  EXPECT_EQ(y[0].data, (Floats{1.5f, 1.5f}));
}

TEST(ImportAttention, Refusals) {
  Dims one = {1, 1, 2, 4};
  EXPECT_NE(attention({one, {1, 1, 2, 3}, one}).error(), "no error");
  EXPECT_NE(attention({{1, 3, 2, 4}, {1, 2, 2, 4}, {1, 2, 2, 4}}).error(),
            "no error");
  EXPECT_NE(attention({one, one, one, {3, 2}}).error().find("a mask of [3,2]"),
            std::string::npos);
  EXPECT_NE(attention({{1, 2, 4}, {1, 2, 4}, {1, 2, 4}}).error().find("heads"),
            std::string::npos);
  EXPECT_NE(attention({{1}, {1}, {1}}).error(), "no error");
}

TEST(ImportRotaryEmbedding, TurnsPairs) {
  OnnxTestModel model(23);
  model.input("x", {1, 1, 2, 2}).weight("c", {1, 2, 1}, {0, 1});
  model.weight("s", {1, 2, 1}, {1, 0});
  model.node("RotaryEmbedding", {"x", "c", "s"}, {"y"}).output("y");
  // A quarter turn, then none.
  EXPECT_EQ(model.run({iota({1, 1, 2, 2}, 1)})[0].data, (Floats{-2, 1, 3, 4}));
}
