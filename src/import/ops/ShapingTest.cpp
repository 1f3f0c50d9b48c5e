#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

/// Dims of reshape(x, shape), or the error.
std::string reshape(Dims x, std::vector<int64_t> shape, int allowZero = 0) {
  OnnxTestModel model;
  model.input("x", x).ints("shape", shape).output("y");
  model.node("Reshape", {"x", "shape"}, {"y"}, {{"allowzero", allowZero}});
  auto imported = model.import();
  if (!imported)
    return imported.error().message;
  return typeText(DType::F32,
                  imported->graph.value(imported->graph.outputs[0]).dims);
}

TEST(ImportReshape, ZeroAndMinusOne) {
  EXPECT_EQ(reshape({2, 3, 4}, {0, -1}), "f32[2,12]");
  EXPECT_EQ(reshape({2, 3, 4}, {4, 6}), "f32[4,6]");
  EXPECT_EQ(reshape({1}, {}), "f32[]");
  EXPECT_EQ(reshape({0, 3}, {0, 7}, 1), "f32[0,7]");
}

TEST(ImportReshape, Refusals) {
  EXPECT_NE(reshape({2, 3}, {4, 2}).find("(6 elements) to [4,2]"),
            std::string::npos);
  EXPECT_NE(reshape({2, 3}, {-1, 4}).find("cannot reshape"), std::string::npos);
  EXPECT_NE(reshape({2, 3}, {-1, -1}).find("one -1"), std::string::npos);
  EXPECT_NE(reshape({2, 3}, {-2, 3}).find("one -1"), std::string::npos);
  EXPECT_NE(reshape({2, 3}, {2, 3, 0}).find("copies dim 2"), std::string::npos);
  EXPECT_NE(reshape({0, 3}, {0, -1}, 1).find("allowzero=1"), std::string::npos);
}

TEST(ImportFlatten, Axes) {
  for (auto [axis, expected] : std::vector<std::pair<int, Dims>>{
           {0, {1, 24}}, {1, {2, 12}}, {-1, {6, 4}}, {3, {24, 1}}}) {
    OnnxTestModel model;
    model.input("x", {2, 3, 4}).output("y");
    model.node("Flatten", {"x"}, {"y"}, {{"axis", axis}});
    EXPECT_EQ(model.run({iota({2, 3, 4})})[0].dims, expected) << axis;
  }
}

TEST(ImportSqueeze, AttributeInputAndAll) {
  OnnxTestModel old(11);
  old.input("x", {1, 2, 1}).output("a").output("b");
  old.node("Squeeze", {"x"}, {"a"}, {{"axes", Attr::Ints{-1}}});
  old.node("Squeeze", {"x"}, {"b"});
  auto y = old.run({iota({1, 2, 1})});
  EXPECT_EQ(y[0].dims, (Dims{1, 2}));
  EXPECT_EQ(y[1].dims, (Dims{2}));
  OnnxTestModel bad(13);
  bad.input("x", {1, 2}).ints("axes", {1}).output("y");
  bad.node("Squeeze", {"x", "axes"}, {"y"});
  EXPECT_NE(bad.error().find("cannot squeeze dim 1"), std::string::npos);
}

TEST(ImportUnsqueeze, AxesCountInTheOutput) {
  OnnxTestModel model(13);
  model.input("x", {2, 3}).ints("axes", {-1, 0}).output("y");
  model.node("Unsqueeze", {"x", "axes"}, {"y"});
  EXPECT_EQ(model.run({iota({2, 3})})[0].dims, (Dims{1, 2, 3, 1}));
  OnnxTestModel twice(11);
  twice.input("x", {2, 3}).output("y");
  twice.node("Unsqueeze", {"x"}, {"y"}, {{"axes", Attr::Ints{0, -4}}});
  EXPECT_NE(twice.error().find("named twice"), std::string::npos);
}

TEST(ImportIdentity, DropoutAndItsMask) {
  OnnxTestModel model(11);
  model.input("x", {2}).node("Identity", {"x"}, {"i"});
  model.node("Dropout", {"i"}, {"d", "mask"}).node("Relu", {"d"}, {"y"});
  model.output("y");
  EXPECT_EQ(model.run({{{2}, {-1, 1}}})[0].data, (Floats{0, 1}));
  EXPECT_EQ(model.import()->graph.nodes.size(), 1u);
}

} // namespace
