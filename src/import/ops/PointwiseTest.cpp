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
  EXPECT_EQ(computed.run({{{3}, {-1, 3, 9}}, {{}, {2}}})[0].data,
            (Floats{2, 3, 9}));
  OnnxTestModel wide;
  wide.input("x", {3}).input("low", {2});
  wide.node("Clip", {"x", "low"}, {"y"}).output("y");
  EXPECT_NE(wide.error().find("a bound is f32[2]"), std::string::npos);
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

TEST(ImportPointwise, IntegersAtRunTime) {
  OnnxTestModel model;
  model.input("x", {2}, onnx::TensorProto::INT8);
  model.input("b", {}, onnx::TensorProto::INT8);
  model.node("Relu", {"x"}, {"r"}).node("Sub", {"x", "b"}, {"d"});
  model.node("Less", {"x", "b"}, {"l"}).node("Abs", {"x"}, {"a"});
  model.output("r").output("d").output("l").output("a");
  auto y = model.run(
      {intTensor(DType::I8, {2}, {-128, 5}), intTensor(DType::I8, {}, {1})});
  EXPECT_EQ(intsOf(y[0]), (Attr::Ints{0, 5}));
  EXPECT_EQ(intsOf(y[1]), (Attr::Ints{127, 4}));
  EXPECT_EQ(intsOf(y[2]), (Attr::Ints{1, 0}));
  EXPECT_EQ(y[2].dtype, DType::Bool);
  EXPECT_EQ(intsOf(y[3]), (Attr::Ints{-128, 5}));
}

TEST(ImportPointwise, MathOnIntegersIsUnsupported) {
  for (std::string op : {"Sin", "Sigmoid", "Not"}) {
    OnnxTestModel model;
    model.input("x", {2}, onnx::TensorProto::INT64);
    model.node(op, {"x"}, {"y"}).output("y");
    EXPECT_NE(model.error().find("type i64"), std::string::npos) << op;
  }
}

TEST(ImportPointwise, NanAndInfinity) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(apply("Sign", {-3, 0, 2}), (Floats{-1, 0, 1}));
  EXPECT_TRUE(std::isnan(apply("Sign", {nan})[0]));
  EXPECT_EQ(apply("Softplus", {1000, -1000}), (Floats{1000, 0}));
  EXPECT_EQ(apply("Round", {0.5f, 1.5f, -2.5f}), (Floats{0, 2, -2}));
}

TEST(ImportMod, SignsOfDivisorAndDividend) {
  for (int fmod : {0, 1}) {
    OnnxTestModel model;
    model.input("a", {4}, onnx::TensorProto::INT32);
    model.input("b", {4}, onnx::TensorProto::INT32);
    model.node("Mod", {"a", "b"}, {"y"}, {{"fmod", fmod}}).output("y");
    auto y = model.run({intTensor(DType::I32, {4}, {-7, 7, -7, 7}),
                        intTensor(DType::I32, {4}, {3, -3, -3, 0})});
    EXPECT_EQ(intsOf(y[0]),
              fmod ? (Attr::Ints{-1, 1, -1, 0}) : (Attr::Ints{2, -2, -1, 0}));
  }
}

TEST(ImportCast, AtRunTime) {
  OnnxTestModel model;
  model.input("x", {5});
  model.node("Cast", {"x"}, {"i"}, {{"to", onnx::TensorProto::INT8}});
  model.node("Cast", {"x"}, {"b"}, {{"to", onnx::TensorProto::BOOL}});
  model.output("i").output("b");
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto y = model.run({{{5}, {2.9f, -2.9f, 300, nan, 0}}});
  EXPECT_EQ(intsOf(y[0]), (Attr::Ints{2, -2, 127, 0, 0}));
  EXPECT_EQ(intsOf(y[1]), (Attr::Ints{1, 1, 1, 1, 0}));
}

TEST(ImportWhere, BroadcastsAllThree) {
  OnnxTestModel model;
  model.input("c", {2, 1}, onnx::TensorProto::BOOL).input("a", {2});
  model.weight("b", {}, {-1});
  model.node("Where", {"c", "a", "b"}, {"y"}).output("y");
  auto y = model.run({intTensor(DType::Bool, {2, 1}, {0, 1}), iota({2}, 3)});
  EXPECT_EQ(y[0].data, (Floats{-1, -1, 3, 4}));
}

TEST(ImportQuantize, RoundsHalfToEvenAndSaturates) {
  OnnxTestModel model;
  model.input("x", {6}).weight("s", {}, {2});
  model.node("QuantizeLinear", {"x", "s"}, {"q"});
  model.node("DequantizeLinear", {"q", "s"}, {"y"}).output("q").output("y");
  auto y = model.run({{{6}, {1, 3, 5, -4, 510, 9999}}});
  EXPECT_EQ(intsOf(y[0]), (Attr::Ints{0, 2, 2, 0, 255, 255}));
  EXPECT_EQ(y[1].data, (Floats{0, 4, 4, 0, 510, 510}));
}

} // namespace
