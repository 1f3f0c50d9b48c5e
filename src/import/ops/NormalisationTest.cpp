#include "import/OnnxTestModel.h"

#include <cmath>

using namespace tlm;

namespace {

TEST(ImportBatchNormalization, FormulaAndFoldIntoConv) {
  OnnxTestModel model(9, 3);
  model.input("x", {1, 1, 2, 2}).weight("w", {2, 1, 1, 1}, {2, -3});
  model.weight("g", {2}, {1.5f, 0.5f}).weight("b", {2}, {0.1f, -0.2f});
  model.weight("m", {2}, {0.3f, 0.7f}).weight("v", {2}, {0.9f, 2.5f});
  model.node("Conv", {"x", "w"}, {"c"});
  model.node("BatchNormalization", {"c", "g", "b", "m", "v"}, {"y"},
             {{"epsilon", 0.01f}});
  model.output("y");
  Tensor x = iota({1, 1, 2, 2}, 1);
  Tensor y = model.run({x})[0];
  float w[] = {2, -3}, g[] = {1.5f, 0.5f}, b[] = {0.1f, -0.2f};
  float m[] = {0.3f, 0.7f}, v[] = {0.9f, 2.5f};
  for (size_t c = 0; c < 2; ++c)
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(y.data[c * 4 + i],
                  g[c] * (x.data[i] * w[c] - m[c]) / std::sqrt(v[c] + 0.01f) +
                      b[c],
                  1e-5f);
  auto imported = model.import();
  EXPECT_EQ(imported->graph.nodes.size(), 3u);
  simplifyGraph(imported->graph);
  ASSERT_EQ(imported->graph.nodes.size(), 1u);
  EXPECT_EQ(imported->graph.nodes[0].inputs.size(), 3u);
  EXPECT_EQ(imported->graph.value(imported->graph.outputs[0]).name, "y");
}

TEST(ImportBatchNormalization, Refusals) {
  OnnxTestModel model;
  model.input("x", {1, 2, 2}).weight("p", {2}, {1, 1});
  model.node("BatchNormalization", {"x", "p", "p", "p", "p"}, {"y"},
             {{"training_mode", 1}});
  model.output("y");
  EXPECT_NE(model.error().find("training_mode=1"), std::string::npos);
  OnnxTestModel shape;
  shape.input("x", {1, 3, 2}).weight("p", {2}, {1, 1});
  shape.node("BatchNormalization", {"x", "p", "p", "p", "p"}, {"y"});
  shape.output("y");
  EXPECT_NE(shape.error().find("must be f32[3]"), std::string::npos);
}

TEST(ImportLayerNormalization, HandValue) {
  OnnxTestModel model;
  model.input("x", {1, 2}).weight("s", {2}, {2, 2}).weight("b", {2}, {1, 1});
  model.node("LayerNormalization", {"x", "s", "b"}, {"y"}, {{"epsilon", 0.0f}});
  model.output("y");
  EXPECT_EQ(model.run({{{1, 2}, {1, 3}}})[0].data, (Floats{-1, 3}));
}

TEST(ImportInstanceNormalization, HandValue) {
  OnnxTestModel model;
  model.input("x", {1, 2, 2}).weight("s", {2}, {1, 2}).weight("b", {2}, {0, 1});
  model.node("InstanceNormalization", {"x", "s", "b"}, {"y"},
             {{"epsilon", 0.0f}});
  model.output("y");
  EXPECT_EQ(model.run({{{1, 2, 2}, {1, 3, 5, 9}}})[0].data,
            (Floats{-1, 1, -1, 3}));
}

TEST(ImportLrn, AgreesWithTheDefinition) {
  for (int size : {1, 2, 3, 4}) {
    OnnxTestModel model;
    model.input("x", {1, 5, 1, 1});
    model.node("LRN", {"x"}, {"y"},
               {{"size", size}, {"alpha", 0.5f}, {"bias", 2.0f}});
    model.output("y");
    Tensor x = iota({1, 5, 1, 1}, 1), y = model.run({x})[0];
    for (int c = 0; c < 5; ++c) {
      float sum = 0;
      for (int k = std::max(0, c - (size - 1) / 2);
           k <= std::min(4, c + size / 2); ++k)
        sum += x.data[size_t(k)] * x.data[size_t(k)];
      EXPECT_NEAR(y.data[size_t(c)],
                  x.data[size_t(c)] /
                      std::pow(2 + 0.5f / float(size) * sum, 0.75f),
                  1e-5f);
    }
  }
}

} // namespace
