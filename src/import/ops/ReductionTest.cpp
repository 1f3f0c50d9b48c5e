#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

TEST(ImportReduceMean, AxesAsAttributeAndInput) {
  OnnxTestModel old(13);
  old.input("x", {2, 3}).output("y");
  old.node("ReduceMean", {"x"}, {"y"}, {{"axes", Attr::Ints{-1}}});
  EXPECT_EQ(old.run({iota({2, 3})})[0].data, (Floats{1, 4}));
  EXPECT_EQ(old.run({iota({2, 3})})[0].dims, (Dims{2, 1}));

  OnnxTestModel fresh(18);
  fresh.input("x", {2, 3}).ints("axes", {0}).output("y");
  fresh.node("ReduceMean", {"x", "axes"}, {"y"}, {{"keepdims", 0}});
  EXPECT_EQ(fresh.run({iota({2, 3})})[0].data, (Floats{1.5f, 2.5f, 3.5f}));
  EXPECT_EQ(fresh.run({iota({2, 3})})[0].dims, (Dims{3}));
}

TEST(ImportReduceMean, NoAxes) {
  OnnxTestModel all(18);
  all.input("x", {2, 3}).node("ReduceMean", {"x"}, {"y"}, {{"keepdims", 0}});
  all.output("y");
  EXPECT_EQ(all.run({iota({2, 3})})[0].data, (Floats{2.5f}));
  OnnxTestModel none(18);
  none.input("x", {2, 3}).output("y");
  none.node("ReduceMean", {"x"}, {"y"}, {{"noop_with_empty_axes", 1}});
  EXPECT_EQ(none.run({iota({2, 3})})[0].data, iota({2, 3}).data);
}

TEST(ImportReduceMean, BadAxes) {
  OnnxTestModel model(13);
  model.input("x", {2, 3}).output("y");
  model.node("ReduceMean", {"x"}, {"y"}, {{"axes", Attr::Ints{1, -1}}});
  EXPECT_NE(model.error().find("named twice"), std::string::npos);
}

Floats softmax(int64_t opset, std::vector<Attr> attributes) {
  OnnxTestModel model(opset);
  model.input("x", {1, 2, 2}).output("y");
  model.node("Softmax", {"x"}, {"y"}, std::move(attributes));
  return model.run({{{1, 2, 2}, {0, 0, 0, 0}}})[0].data;
}

TEST(ImportSoftmax, FlattensUpToOpset12) {
  EXPECT_EQ(softmax(11, {}), Floats(4, 0.25f));
  EXPECT_EQ(softmax(11, {{"axis", 2}}), Floats(4, 0.5f));
  EXPECT_EQ(softmax(11, {{"axis", 0}}), Floats(4, 0.25f));
}

TEST(ImportSoftmax, OneAxisFromOpset13) {
  EXPECT_EQ(softmax(13, {}), Floats(4, 0.5f));
  EXPECT_EQ(softmax(13, {{"axis", 1}}), Floats(4, 0.5f));
  EXPECT_EQ(softmax(13, {{"axis", 0}}), Floats(4, 1.0f));
}

TEST(ImportSoftmax, TrailingOnesMakeItTheLastAxis) {
  OnnxTestModel model(13);
  model.input("x", {1, 4, 1, 1}).output("y");
  model.node("Softmax", {"x"}, {"y"}, {{"axis", 1}});
  auto imported = model.import();
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->graph.nodes[1].op, Op::Softmax);
  EXPECT_EQ(imported->graph.value(imported->graph.nodes[1].outputs[0]).dims,
            (Dims{1, 4}));
}

} // namespace
