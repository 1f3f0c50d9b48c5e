#include "import/OnnxTestModel.h"

#include <limits>

using namespace tlm;

namespace {

constexpr int32_t kI64 = onnx::TensorProto::INT64;

Tensor indices(Dims dims, std::vector<int64_t> numbers) {
  return intTensor(DType::I64, std::move(dims), numbers);
}

/// The same scatter with its indices given as input and as constant.
void expectScatter(const std::string &op, const Dims &at,
                   const std::vector<int64_t> &numbers, const Dims &updates,
                   const Floats &expected, std::vector<Attr> attributes = {}) {
  for (bool constant : {false, true}) {
    OnnxTestModel model(18);
    model.input("x", {4, 2}).input("u", updates);
    std::vector<Tensor> inputs = {iota({4, 2}), iota(updates, 10)};
    if (constant) {
      model.ints("i", at, numbers);
    } else {
      model.input("i", at, kI64);
      inputs.push_back(indices(at, numbers));
    }
    model.node(op, {"x", "i", "u"}, {"y"}, attributes).output("y");
    EXPECT_EQ(model.run(inputs)[0].data, expected) << op << constant;
  }
}

} // namespace

TEST(ImportGather, NegativeIndicesAndClamping) {
  OnnxTestModel model;
  model.input("x", {3, 2}).input("i", {4}, kI64);
  model.node("Gather", {"x", "i"}, {"y"}).output("y");
  // The last two lie outside: clamped, never a wild read.
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(model.run({iota({3, 2}), indices({4}, {-1, 1, 99, least})})[0].data,
            (Floats{4, 5, 2, 3, 4, 5, 0, 1}));
}

TEST(ImportGather, ConstantIndicesAreChecked) {
  for (int64_t index : {3, -4}) {
    OnnxTestModel model;
    model.input("x", {3, 2}).ints("i", {0, index});
    model.node("Gather", {"x", "i"}, {"y"}).output("y");
    EXPECT_NE(model.error().find("is outside [-3,2]"), std::string::npos);
  }
  OnnxTestModel real;
  real.input("x", {3, 2}).weight("i", {1}, {0});
  real.node("Gather", {"x", "i"}, {"y"}).output("y");
  EXPECT_NE(real.error().find("indices of type f32"), std::string::npos);
}

TEST(ImportGather, OneIndexIsASlice) {
  OnnxTestModel model;
  model.input("x", {3, 2}).ints("i", {}, {-1});
  model.node("Gather", {"x", "i"}, {"y"}).output("y");
  auto y = model.run({iota({3, 2})});
  EXPECT_EQ(y[0].dims, (Dims{2}));
  EXPECT_EQ(y[0].data, (Floats{4, 5}));
}

TEST(ImportGatherND, BatchDims) {
  OnnxTestModel model;
  model.input("x", {2, 3}).input("i", {2, 1}, kI64);
  model.node("GatherND", {"x", "i"}, {"y"}, {{"batch_dims", 1}}).output("y");
  EXPECT_EQ(model.run({iota({2, 3}), indices({2, 1}, {2, -3})})[0].data,
            (Floats{2, 3}));
  OnnxTestModel deep;
  deep.input("x", {2, 3}).input("i", {2, 3}, kI64);
  deep.node("GatherND", {"x", "i"}, {"y"}).output("y");
  EXPECT_NE(deep.error().find("do not fit"), std::string::npos);
}

TEST(ImportScatter, LastDuplicateWins) {
  expectScatter("ScatterElements", {3, 1}, {1, -1, 1}, {3, 1},
                {0, 1, 12, 3, 4, 5, 11, 7});
  expectScatter("ScatterND", {3, 1}, {1, -1, 1}, {3, 2},
                {0, 1, 14, 15, 4, 5, 12, 13});
}

TEST(ImportScatter, Reductions) {
  expectScatter("ScatterElements", {3, 1}, {1, -1, 1}, {3, 1},
                {0, 1, 24, 3, 4, 5, 17, 7}, {{"reduction", "add"}});
  expectScatter("ScatterND", {3, 1}, {1, -1, 1}, {3, 2},
                {0, 1, 2, 3, 4, 5, 6, 7}, {{"reduction", "min"}});
  expectScatter("ScatterND", {2, 1}, {0, 0}, {2, 2}, {0, 143, 2, 3, 4, 5, 6, 7},
                {{"reduction", "mul"}});
}

TEST(ImportScatter, RefusesWhatIsTooMuchOrDoesNotFit) {
  OnnxTestModel large;
  large.input("x", {100000}).input("i", {1000, 1}, kI64).input("u", {1000});
  large.node("ScatterND", {"x", "i", "u"}, {"y"}).output("y");
  EXPECT_NE(large.error().find("1000 updates"), std::string::npos);
  OnnxTestModel wrong;
  wrong.input("x", {4}).input("i", {2, 1}, kI64).input("u", {3});
  wrong.node("ScatterND", {"x", "i", "u"}, {"y"}).output("y");
  EXPECT_NE(wrong.error().find("f32[2] are needed"), std::string::npos);
  OnnxTestModel outside;
  outside.input("x", {4}).ints("i", {1, 1}, {4}).input("u", {1});
  outside.node("ScatterND", {"x", "i", "u"}, {"y"}).output("y");
  EXPECT_NE(outside.error().find("index 4 is outside"), std::string::npos);
}

TEST(ImportOneHot, AxisAndNegativeIndices) {
  OnnxTestModel model;
  model.input("i", {2}, kI64).ints("depth", {}, {3});
  model.weight("v", {2}, {5, 1});
  model.node("OneHot", {"i", "depth", "v"}, {"y"}, {{"axis", 0}}).output("y");
  EXPECT_EQ(model.run({indices({2}, {-1, 0})})[0].data,
            (Floats{5, 1, 5, 5, 1, 5}));
}

TEST(ImportNonZero, ConstantsOnly) {
  OnnxTestModel model;
  model.weight("x", {2, 2}, {0, 1, 2, 0});
  model.node("NonZero", {"x"}, {"y"}).output("y");
  EXPECT_EQ(intsOf(model.run()[0]), (Attr::Ints{0, 1, 1, 0}));
  OnnxTestModel computed;
  computed.input("x", {2}).node("NonZero", {"x"}, {"y"}).output("y");
  EXPECT_NE(computed.error().find("depends on data"), std::string::npos);
}
