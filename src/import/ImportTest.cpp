#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

/// y = relu(x)
OnnxTestModel relu(Dims dims = {2}) {
  OnnxTestModel model;
  model.input("x", dims).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

testing::AssertionResult says(const std::string &text,
                              const std::string &part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "'" << text << "' lacks '" << part << "'";
}

//===--- names, inputs and outputs ----------------------------------------===//

TEST(Import, ValuesKeepTheirOnnxNames) {
  OnnxTestModel model;
  model.input("x", {1, 1, 2, 2}).weight("w", {1, 1, 1, 1}, {2});
  model.weight("p", {1}, {1});
  model.node("Conv", {"x", "w"}, {"c"});
  model.node("BatchNormalization", {"c", "p", "p", "p", "p"}, {"n"});
  model.node("Relu", {"n"}, {"r"}).node("Neg", {"r"}, {"y"}).output("y");
  auto imported = model.import();
  ASSERT_TRUE(imported);
  simplifyGraph(imported->graph);
  std::vector<std::string> names;
  for (const Node &node : imported->graph.nodes)
    names.push_back(imported->graph.value(node.outputs[0]).name);
  EXPECT_EQ(names, (std::vector<std::string>{"n", "r", "y"}));
}

TEST(Import, InitializersListedAsInputsAreConstants) {
  OnnxTestModel model(9, 3);
  model.input("x", {2}).input("w", {2}).weight("w", {2}, {3, 4});
  model.node("Add", {"x", "w"}, {"y"}).output("y");
  auto imported = model.import();
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->graph.inputs.size(), 1u);
  EXPECT_EQ(imported->summary.inputs.size(), 1u);
}

TEST(Import, UnsortedNodesAreSorted) {
  OnnxTestModel model;
  model.input("x", {2}).node("Neg", {"r"}, {"y"}).node("Relu", {"x"}, {"r"});
  model.output("y");
  EXPECT_EQ(model.run({{{2}, {-1, 2}}})[0].data, (Floats{0, -2}));
}

TEST(Import, OddOutputsAreCopies) {
  OnnxTestModel model;
  model.input("x", {2}).weight("w", {2}, {3, 4}).node("Relu", {"x"}, {"r"});
  model.node("Identity", {"x"}, {"same"}).node("Identity", {"r"}, {"again"});
  for (const char *name : {"x", "w", "same", "r", "again", "r"})
    model.output(name);
  auto y = model.run({{{2}, {-1, 2}}});
  EXPECT_EQ(y[0].data, (Floats{-1, 2}));
  EXPECT_EQ(y[1].data, (Floats{3, 4}));
  EXPECT_EQ(y[2].data, (Floats{-1, 2}));
  for (size_t i : {3, 4, 5})
    EXPECT_EQ(y[i].data, (Floats{0, 2}));
  auto imported = model.import();
  simplifyGraph(imported->graph);
  const Graph &graph = imported->graph;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    EXPECT_EQ(graph.value(graph.outputs[i]).name,
              model.graph().output(i).name());
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(graph.outputs[i], graph.outputs[j]);
  }
}

TEST(Import, ZeroSizeAndScalarTensors) {
  EXPECT_EQ(relu({0, 3}).run({{{0, 3}, {}}})[0].dims, (Dims{0, 3}));
  EXPECT_EQ(relu({}).run({{{}, {-1}}})[0].data, (Floats{0}));
}

TEST(Import, Summary) {
  OnnxTestModel model = relu({-1, 2});
  model.weight("w", {3}, {1, 2, 3});
  model.node("Relu", {"y"}, {"z"});
  auto imported = model.import({{}, {{"N", 4}}});
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->summary.text(),
            "ONNX IR 8, opset 17, 2 nodes, 3 weights (0.0 MiB), input x "
            "f32[N,2], output y f32[*]");
  EXPECT_EQ(imported->summary.opCounts.at("Relu"), 2);
}

//===--- shapes -----------------------------------------------------------===//

TEST(ImportShapes, DynamicDimNamesInputDimAndFlag) {
  std::string error = relu({-1, 3}).error();
  EXPECT_TRUE(says(error, "input 'x' f32[N,3]: dim 0 ('N') is dynamic"));
  EXPECT_TRUE(says(error, "--shape x:1x3 or --dim N=1"));
}

TEST(ImportShapes, OverridesByNameIndexAndSymbol) {
  for (const ImportOptions &options :
       {ImportOptions{{{"x", {5, 3}}}, {}}, ImportOptions{{{"0", {5, -1}}}, {}},
        ImportOptions{{{"", {5, 3}}}, {}}, ImportOptions{{}, {{"N", 5}}}}) {
    auto imported = relu({-1, 3}).import(options);
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_EQ(imported->graph.value(imported->graph.outputs[0]).dims,
              (Dims{5, 3}));
  }
}

TEST(ImportShapes, BadOverrides) {
  EXPECT_TRUE(says(relu().error({{{"z", {2}}}, {}}), "names no input"));
  EXPECT_TRUE(says(relu().error({{{"x", {2, 2}}}, {}}), "2 dims"));
  EXPECT_TRUE(says(relu().error({{}, {{"M", 2}}}), "no symbolic dim"));
}

TEST(ImportShapes, UnrankedInputAsksForShape) {
  OnnxTestModel model = relu();
  model.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  EXPECT_TRUE(says(model.error(), "no declared shape | give one"));
  EXPECT_TRUE(model.import({{{"x", {2}}}, {}}));
}

TEST(ImportShapes, HugeInput) {
  EXPECT_TRUE(says(relu({int64_t(1) << 40, int64_t(1) << 40}).error(),
                   "too many elements"));
}

TEST(ImportShapes, HugeResult) {
  int64_t big = int64_t(1) << 40;
  OnnxTestModel outer;
  outer.input("x", {big, 1}).input("y", {1, big});
  outer.node("Add", {"x", "y"}, {"z"}).output("z");
  EXPECT_TRUE(says(outer.error(), "too many elements"));
  OnnxTestModel reshape = relu();
  reshape.ints("to", {big, big}).node("Reshape", {"y", "to"}, {"z"});
  EXPECT_NE(reshape.output("z").error(), "no error");
  OnnxTestModel expand = relu({1});
  expand.ints("to", {big, big}).node("Expand", {"y", "to"}, {"z"});
  EXPECT_TRUE(says(expand.output("z").error(), "too many elements"));
}

TEST(ImportShapes, NegativeDims) {
  OnnxTestModel input = relu();
  auto *type = input.graph().mutable_input(0)->mutable_type();
  type->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
      -2);
  EXPECT_TRUE(says(input.error(), "dim 0 is dynamic"));
  OnnxTestModel reshape = relu();
  reshape.ints("to", {-2}).node("Reshape", {"y", "to"}, {"z"});
  EXPECT_NE(reshape.output("z").error(), "no error");
  OnnxTestModel expand = relu();
  expand.ints("to", {-2}).node("Expand", {"y", "to"}, {"z"});
  EXPECT_NE(expand.output("z").error(), "no error");
}

TEST(ImportShapes, WarnsWhenValueInfoDisagrees) {
  OnnxTestModel model = relu();
  model.node("Neg", {"y"}, {"z"}).valueInfo("z", {3}).valueInfo("y", {-1});
  auto imported = model.import();
  ASSERT_TRUE(imported);
  EXPECT_EQ(
      imported->warnings,
      std::vector<std::string>{"the model says 'z' is f32[3], it is f32[2]"});
}

//===--- versions ---------------------------------------------------------===//

TEST(ImportVersions, OldAreRefusedNewAreTried) {
  EXPECT_TRUE(says(OnnxTestModel(6).error(), "opset 6; 7 to"));
  EXPECT_TRUE(says(OnnxTestModel(17, 2).error(), "IR version 2; 3 and newer"));
  OnnxTestModel fresh(99, 99);
  fresh.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  auto imported = fresh.import();
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->warnings.size(), 2u);
  OnnxTestModel none = relu();
  none.proto.clear_opset_import();
  EXPECT_TRUE(says(none.error(), "imports no opset"));
}

TEST(ImportVersions, AiOnnxIsTheDefaultDomain) {
  OnnxTestModel model = relu();
  model.proto.mutable_opset_import(0)->set_domain("ai.onnx");
  model.graph().mutable_node(0)->set_domain("ai.onnx");
  EXPECT_TRUE(model.import());
}

//===--- unsupported operators --------------------------------------------===//

TEST(ImportUnsupported, OneTableOfAll) {
  OnnxTestModel model = relu({1, 1, 4});
  model.node("NonMaxSuppression", {"y"}, {"l"});
  model.node("NonMaxSuppression", {"l"}, {"m"});
  model.node("Custom", {"m"}, {"n"});
  model.graph().mutable_node(3)->set_domain("my.domain");
  model.node("Relu", {"n"}, {"r"}); // supported, but cannot be reached
  model.input("i", {1}, onnx::TensorProto::INT64);
  model.node("Reshape", {"y", "i"}, {"g"}).output("g");
  std::string error = model.error();
  EXPECT_TRUE(says(error, "3 kinds of nodes are not supported:\n"
                          "  op                 domain     opset  count  "
                          "first node\n"
                          "  NonMaxSuppression  ai.onnx    17     2      "
                          "'NonMaxSuppression_1'\n"
                          "  Custom             my.domain  0      1      "
                          "'Custom_3'\n"
                          "  Reshape            ai.onnx    17     1      "
                          "'Reshape_5': a shape that is computed from data"));
  EXPECT_EQ(
      summarise(*readOnnxBytes(model.bytes().data(), model.bytes().size(), "."))
          .unsupported.size(),
      2u);
}

//===--- broken graphs ----------------------------------------------------===//

TEST(ImportBroken, Cycle) {
  OnnxTestModel model;
  model.input("x", {2}).node("Add", {"x", "b"}, {"a"});
  model.node("Relu", {"a"}, {"b"}).output("b");
  EXPECT_TRUE(says(model.error(), "'Add_0' (Add) depends on its own output"));
}

TEST(ImportBroken, DuplicateNames) {
  OnnxTestModel twice = relu();
  twice.node("Neg", {"x"}, {"y"});
  EXPECT_TRUE(says(twice.error(), "value 'y' is defined twice"));
  OnnxTestModel shadows;
  shadows.input("x", {2}).node("Relu", {"x"}, {"x"}).output("x");
  EXPECT_TRUE(says(shadows.error(), "value 'x' is defined twice"));
  OnnxTestModel weights = relu();
  weights.weight("w", {1}, {1}).weight("w", {1}, {1});
  EXPECT_TRUE(says(weights.error(), "initializer 'w' is defined twice"));
  OnnxTestModel inputs = relu();
  inputs.input("x", {2});
  EXPECT_TRUE(says(inputs.error(), "input 'x' is defined twice"));
}

TEST(ImportBroken, MissingInputsAndOutputs) {
  OnnxTestModel reads;
  reads.input("x", {2}).node("Add", {"x", "gone"}, {"y"}).output("y");
  EXPECT_TRUE(says(reads.error(), "reads 'gone'"));
  OnnxTestModel output = relu();
  output.output("gone");
  EXPECT_TRUE(says(output.error(), "output 'gone' is made by no"));
  OnnxTestModel none;
  none.input("x", {2}).node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(says(none.error(), "no outputs"));
}

TEST(ImportBroken, OperandCounts) {
  OnnxTestModel few;
  few.input("x", {2}).node("Add", {"x", ""}, {"y"}).output("y");
  EXPECT_TRUE(says(few.error(), "1 inputs; 2 to 2 are allowed"));
  OnnxTestModel many;
  many.input("x", {2}).node("Relu", {"x", "x"}, {"y"}).output("y");
  EXPECT_TRUE(says(many.error(), "2 inputs; 1 to 1 are allowed"));
  OnnxTestModel holes;
  holes.input("x", {2}).node("Sum", {"x", "", "x"}, {"y"}).output("y");
  EXPECT_TRUE(says(holes.error(), "3 inputs"));
}

TEST(ImportBroken, Types) {
  OnnxTestModel strings;
  strings.input("x", {2}, onnx::TensorProto::STRING);
  strings.node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(says(strings.error(), "ONNX data type 8"));
  OnnxTestModel halves;
  halves.input("x", {2}, onnx::TensorProto::FLOAT16);
  halves.node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(says(halves.error(), "input 'x' is f16[2]"));
  OnnxTestModel mixed;
  mixed.input("x", {2}).input("i", {2}, onnx::TensorProto::INT64);
  mixed.node("Add", {"x", "i"}, {"y"}).output("y");
  EXPECT_TRUE(says(mixed.error(), "operands are f32[2] and i64[2]"));
}

} // namespace
