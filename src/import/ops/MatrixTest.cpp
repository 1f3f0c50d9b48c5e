#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

TEST(ImportGemm, TransposedConstantIsFolded) {
  OnnxTestModel model;
  model.input("x", {1, 2}).weight("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  model.weight("c", {3}, {10, 20, 30});
  model.node("Gemm", {"x", "w", "c"}, {"y"},
             {{"transB", 1}, {"alpha", 2.0f}, {"beta", 0.5f}});
  model.output("y");
  EXPECT_EQ(model.run({{{1, 2}, {1, 1}}})[0].data, (Floats{11, 24, 37}));
  auto imported = model.import();
  ASSERT_EQ(imported->graph.nodes.size(), 2u);
  EXPECT_EQ(imported->graph.nodes[0].op, Op::MatMul);
  EXPECT_EQ(imported->graph.nodes[1].op, Op::Add);
  EXPECT_EQ(imported->graph.value(imported->graph.outputs[0]).name, "y");
}

TEST(ImportGemm, EveryBroadcastOfC) {
  for (const Dims &dims :
       std::vector<Dims>{{}, {1}, {2}, {1, 2}, {3, 1}, {3, 2}, {1, 1}}) {
    OnnxTestModel model;
    model.input("a", {3, 1}).input("b", {1, 2}).input("c", dims);
    model.node("Gemm", {"a", "b", "c"}, {"y"}).output("y");
    Tensor y = model.run({iota({3, 1}, 1),
                          iota({1, 2}, 1),
                          {dims, Floats(size_t(countOf(dims)), 7)}})[0];
    EXPECT_EQ(y.data, (Floats{8, 9, 9, 11, 10, 13})) << dims.size();
  }
}

TEST(ImportGemm, ComputedOperandsTransposed) {
  OnnxTestModel model;
  model.input("a", {2, 1}).input("b", {2, 2});
  model.node("Gemm", {"a", "b"}, {"y"},
             {{"transA", 1}, {"transB", 1}, {"alpha", 10.0f}});
  model.output("y");
  EXPECT_EQ(model.run({iota({2, 1}, 1), iota({2, 2}, 1)})[0].data,
            (Floats{50, 110}));
}

TEST(ImportGemm, BetaZeroIgnoresC) {
  OnnxTestModel model;
  model.input("a", {1, 1}).input("b", {1, 1}).input("c", {1});
  model.node("Gemm", {"a", "b", "c"}, {"y"}, {{"beta", 0.0f}}).output("y");
  EXPECT_EQ(model
                .run({iota({1, 1}, 2),
                      iota({1, 1}, 3),
                      {{1}, {std::numeric_limits<float>::quiet_NaN()}}})[0]
                .data,
            (Floats{6}));
}

TEST(ImportGemm, CMustFit) {
  OnnxTestModel model;
  model.input("a", {1, 2}).input("b", {2, 2}).input("c", {3, 2});
  model.node("Gemm", {"a", "b", "c"}, {"y"}).output("y");
  EXPECT_NE(model.error().find("does not broadcast to [1,2]"),
            std::string::npos);
}

TEST(ImportMatMul, VectorsFollowNumpy) {
  struct Case {
    Dims a, b, y;
  };
  for (const Case &c :
       std::vector<Case>{{{3}, {3}, {}},
                         {{3}, {3, 2}, {2}},
                         {{2, 3}, {3}, {2}},
                         {{4, 2, 3}, {3}, {4, 2}},
                         {{3}, {4, 3, 2}, {4, 2}},
                         {{5, 1, 2, 3}, {4, 3, 2}, {5, 4, 2, 2}}}) {
    OnnxTestModel model;
    model.input("a", c.a).input("b", c.b);
    model.node("MatMul", {"a", "b"}, {"y"}).output("y");
    EXPECT_EQ(model.run({iota(c.a), iota(c.b)})[0].dims, c.y);
  }
}

} // namespace
