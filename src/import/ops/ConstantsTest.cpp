#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

TEST(ImportShapeArithmetic, ChannelShuffleAsExported) {
  // reshape(x, [shape(x)[0], 2, shape(x)[1] / 2, ...])
  OnnxTestModel model;
  model.input("x", {1, 4, 3}).ints("zero", {}, {0}).ints("one", {}, {1});
  model.ints("two", {}, {2}).ints("axis", {0});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"n"});
  model.node("Gather", {"shape", "one"}, {"c"});
  model.node("Div", {"c", "two"}, {"half"});
  model.node("Unsqueeze", {"n", "axis"}, {"n1"});
  model.node("Unsqueeze", {"two", "axis"}, {"two1"});
  model.node("Unsqueeze", {"half", "axis"}, {"half1"});
  model.ints("last", {-1});
  model.node("Concat", {"n1", "two1", "half1", "last"}, {"to"}, {{"axis", 0}});
  model.node("Reshape", {"x", "to"}, {"y"}).output("y");
  EXPECT_EQ(model.run({iota({1, 4, 3})})[0].dims, (Dims{1, 2, 2, 3}));
  EXPECT_EQ(model.import()->graph.nodes.size(), 1u);
}

TEST(ImportShape, StartAndEnd) {
  OnnxTestModel model(15);
  model.input("x", {2, 3, 4}).input("z", {12});
  model.node("Shape", {"x"}, {"s"}, {{"start", -2}, {"end", 100}});
  model.node("Reshape", {"z", "s"}, {"y"}).output("y");
  EXPECT_EQ(model.run({iota({2, 3, 4}), iota({12})})[0].dims, (Dims{3, 4}));
}

TEST(ImportConstantOfShape, DefaultAndValue) {
  OnnxTestModel model(9);
  model.input("x", {2}).ints("shape", {2});
  model.node("ConstantOfShape", {"shape"}, {"zeros"});
  model.node("Add", {"x", "zeros"}, {"y"}).output("y");
  EXPECT_EQ(model.run({iota({2})})[0].data, (Floats{0, 1}));
  OnnxTestModel huge(9);
  huge.ints("shape", {int64_t(1) << 40}).output("y");
  huge.node("ConstantOfShape", {"shape"}, {"y"});
  EXPECT_NE(huge.error().find("larger than 8 GiB"), std::string::npos);
}

TEST(ImportExpandWhereRange, FoldToConstants) {
  OnnxTestModel model(13);
  model.input("x", {3}).ints("start", {}, {0}).ints("end", {}, {3});
  model.ints("step", {}, {1}).ints("one", {1}).ints("three", {3});
  model.node("Range", {"start", "end", "step"}, {"range"});
  model.node("Expand", {"one", "three"}, {"ones"});
  model.node("Equal", {"range", "ones"}, {"is"});
  model.node("Where", {"is", "ones", "range"}, {"w"});
  model.node("Cast", {"w"}, {"f"}, {{"to", 1}});
  model.node("Add", {"x", "f"}, {"y"}).output("y");
  EXPECT_EQ(model.run({{{3}, {0, 0, 0}}})[0].data, (Floats{0, 1, 2}));
}

TEST(ImportCast, TruncatesAndIsNothingBetweenEqualTypes) {
  OnnxTestModel model;
  model.input("x", {4}).weight("f", {2}, {2.9f, -2.9f});
  model.node("Cast", {"f"}, {"i"}, {{"to", 7}});
  model.node("Cast", {"i"}, {"back"}, {{"to", 1}});
  model.node("Cast", {"x"}, {"same"}, {{"to", 1}});
  model.node("Identity", {"back"}, {"b"}).output("b").output("same");
  auto y = model.run({iota({4})});
  EXPECT_EQ(y[0].data, (Floats{2, -2}));
  EXPECT_EQ(y[1].data, iota({4}).data);
}

TEST(ImportDiv, ByConstantZero) {
  OnnxTestModel model;
  model.ints("a", {1, 7}).ints("b", {0, -2});
  model.node("Div", {"a", "b"}, {"y"}).output("y");
  EXPECT_EQ(intsOf(model.run()[0]), (Attr::Ints{0, -3}));
}

//===--- lists that import reads of constants -----------------------------===//

/// An initializer of bytes, all 1.
OnnxTestModel &addOnes(OnnxTestModel &model, int64_t count) {
  auto &tensor = *model.graph().add_initializer();
  tensor.set_name("ones");
  tensor.set_data_type(onnx::TensorProto::UINT8);
  tensor.add_dims(count);
  tensor.set_raw_data(std::string(size_t(count), '\1'));
  return model;
}

TEST(ImportLists, TooLongAreRefused) {
  for (const char *op : {"Compress", "ConstantOfShape", "Expand", "NonZero",
                         "ReduceSum", "Reshape", "Squeeze", "Tile"}) {
    OnnxTestModel model;
    addOnes(model, (int64_t(1) << 24) + 1).input("x", {1, 2});
    std::vector<std::string> operands{"x", "ones"};
    if (op == std::string("NonZero") || op == std::string("ConstantOfShape"))
      operands = {"ones"};
    model.node(op, operands, {"y"}).output("y");
    EXPECT_NE(model.error().find("constants take too long"), std::string::npos)
        << op << ": " << model.error();
  }
}

TEST(ImportLists, ManyArePaidForTogether) {
  auto error = [](int nodes) {
    OnnxTestModel model;
    addOnes(model, int64_t(1) << 20).input("x", {1});
    for (int i = 0; i < nodes; ++i)
      model.node("NonZero", {"ones"}, {"y" + std::to_string(i)});
    return model.output("y0").error();
  };
  EXPECT_EQ(error(2), "no error");
  EXPECT_NE(error(40).find("constants take too long"), std::string::npos);
}

TEST(ImportLists, LongShapesAreCutInMessages) {
  OnnxTestModel model;
  addOnes(model, 1000).input("x", {2}).node("Reshape", {"x", "ones"}, {"y"});
  std::string error = model.output("y").error();
  EXPECT_NE(error.find("1,1,...]"), std::string::npos) << error;
}

} // namespace
