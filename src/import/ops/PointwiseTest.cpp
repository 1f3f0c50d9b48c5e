#include "import/OnnxTestModel.h"

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Floats apply(const std::string &op, Floats x, std::vector<Attr> attributes = {},
             int64_t opset = 24) {
  OnnxTestModel model(opset);
  Dims dims{int64_t(x.size())};
  model.input("x", dims).node(op, {"x"}, {"y"}, std::move(attributes));
  return model.output("y").run({{dims, std::move(x)}})[0].data;
}

TEST(ImportPointwise, Unary) {
  EXPECT_EQ(apply("Relu", {-1, 2}), (Floats{0, 2}));
  EXPECT_EQ(apply("Neg", {-1, 2}), (Floats{1, -2}));
  EXPECT_EQ(apply("Abs", {-1, 2}), (Floats{1, 2}));
  EXPECT_EQ(apply("Sqrt", {4, 9}), (Floats{2, 3}));
  EXPECT_FLOAT_EQ(apply("Sigmoid", {1})[0], 1 / (1 + std::exp(-1.0f)));
  EXPECT_FLOAT_EQ(apply("Tanh", {1})[0], std::tanh(1.0f));
  EXPECT_FLOAT_EQ(apply("Erf", {1})[0], std::erf(1.0f));
  EXPECT_FLOAT_EQ(apply("Exp", {1})[0], std::exp(1.0f));
  EXPECT_EQ(apply("HardSwish", {-4, 3}), (Floats{0, 3}));
  EXPECT_EQ(apply("Reciprocal", {4}), (Floats{0.25f}));
}

TEST(ImportPointwise, AttributeDefaults) {
  EXPECT_FLOAT_EQ(apply("HardSigmoid", {1})[0], 0.7f);
  EXPECT_FLOAT_EQ(apply("LeakyRelu", {-1})[0], -0.01f);
  EXPECT_FLOAT_EQ(apply("Elu", {-1})[0], std::expm1(-1.0f));
  EXPECT_FLOAT_EQ(apply("LeakyRelu", {-1}, {{"alpha", 0.5f}})[0], -0.5f);
}

TEST(ImportPointwise, GeluAndSwish) {
  EXPECT_NEAR(apply("Gelu", {1})[0], 0.8413447f, 1e-6f);
  EXPECT_NEAR(apply("Gelu", {1}, {{"approximate", "tanh"}})[0], 0.8411920f,
              1e-6f);
  EXPECT_FLOAT_EQ(apply("Swish", {2}, {{"alpha", 0.5f}})[0],
                  2 / (1 + std::exp(-1.0f)));
}

TEST(ImportClip, AttributesUpToOpset10) {
  EXPECT_EQ(apply("Clip", {-1, 3, 9}, {{"min", 0.0f}, {"max", 6.0f}}, 10),
            (Floats{0, 3, 6}));
  EXPECT_EQ(apply("Clip", {-kInf, kInf}, {}, 10), (Floats{-kInf, kInf}));
}

TEST(ImportClip, InputsFromOpset11) {
  for (int64_t opset : {11, 12, 13}) {
    OnnxTestModel model(opset);
    model.input("x", {3}).weight("six", {}, {6});
    model.node("Clip", {"x", "", "six"}, {"y"}).output("y");
    EXPECT_EQ(model.run({{{3}, {-kInf, 3, 9}}})[0].data, (Floats{-kInf, 3, 6}));
  }
  OnnxTestModel computed;
  computed.input("x", {3}).input("low", {});
  computed.node("Clip", {"x", "low"}, {"y"}).output("y");
  EXPECT_NE(computed.error().find("must be a constant f32 scalar"),
            std::string::npos);
}

TEST(ImportBinary, BroadcastsBothWays) {
  for (auto [op, expected] :
       std::vector<std::pair<std::string, Floats>>{{"Add", {11, 12, 21, 22}},
                                                   {"Sub", {9, 8, 19, 18}},
                                                   {"Mul", {10, 20, 20, 40}},
                                                   {"Div", {10, 5, 20, 10}}}) {
    OnnxTestModel model;
    model.input("a", {2, 1}).input("b", {2});
    model.node(op, {"a", "b"}, {"y"}).output("y");
    EXPECT_EQ(model.run({{{2, 1}, {10, 20}}, {{2}, {1, 2}}})[0].data, expected)
        << op;
  }
}

TEST(ImportVariadic, OneTwoAndThreeOperands) {
  OnnxTestModel model;
  model.input("a", {2}).input("b", {2}).input("c", {1});
  model.node("Sum", {"a"}, {"one"}).node("Max", {"a", "b", "c"}, {"max"});
  model.node("Min", {"a", "b"}, {"min"}).node("Sum", {"a", "b", "c"}, {"sum"});
  model.output("one").output("max").output("min").output("sum");
  auto y = model.run({{{2}, {1, 5}}, {{2}, {4, 2}}, {{1}, {3}}});
  EXPECT_EQ(y[0].data, (Floats{1, 5}));
  EXPECT_EQ(y[1].data, (Floats{4, 5}));
  EXPECT_EQ(y[2].data, (Floats{1, 2}));
  EXPECT_EQ(y[3].data, (Floats{8, 10}));
}

TEST(ImportPow, SmallExponents) {
  OnnxTestModel model;
  model.input("x", {2}).weight("two", {}, {2}).ints("three", {}, {3});
  model.node("Pow", {"x", "two"}, {"a"}).node("Pow", {"x", "three"}, {"b"});
  model.output("a").output("b");
  auto y = model.run({{{2}, {2, -3}}});
  EXPECT_EQ(y[0].data, (Floats{4, 9}));
  EXPECT_EQ(y[1].data, (Floats{8, -27}));
}

TEST(ImportPRelu, ScalarAndPerChannel) {
  OnnxTestModel model;
  model.input("x", {1, 2, 2}).weight("s", {1}, {0.5f});
  model.weight("c", {2, 1}, {0.5f, 2});
  model.node("PRelu", {"x", "s"}, {"a"}).node("PRelu", {"x", "c"}, {"b"});
  model.output("a").output("b");
  auto y = model.run({{{1, 2, 2}, {-2, 2, -4, 4}}});
  EXPECT_EQ(y[0].data, (Floats{-1, 2, -2, 4}));
  EXPECT_EQ(y[1].data, (Floats{-1, 2, -8, 4}));
}

TEST(ImportPointwise, IntegersAreRefused) {
  OnnxTestModel model;
  model.input("x", {2}, onnx::TensorProto::INT64);
  model.node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_NE(model.error().find("operand 'x' is i64[2]"), std::string::npos);
}

} // namespace
