#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

/// A graph of one node `op` from names to "r", without inputs.
onnx::GraphProto branch(const std::string &op,
                        const std::vector<std::string> &in) {
  OnnxTestModel model;
  model.node(op, in, {"r"}).output("r");
  return model.graph();
}

/// carried' = carried + x, stacked = carried', condition passed through.
onnx::GraphProto adding() {
  OnnxTestModel body;
  body.input("i", {}, onnx::TensorProto::INT64);
  body.input("go", {}, onnx::TensorProto::BOOL).input("sum", {2});
  body.node("Identity", {"go"}, {"on"}).node("Add", {"sum", "x"}, {"next"});
  body.node("Identity", {"next"}, {"each"});
  body.output("on").output("next").output("each");
  return body.graph();
}

} // namespace

TEST(ImportIf, ConstantConditionTakesOneBranch) {
  for (int64_t truth : {0, 1}) {
    OnnxTestModel model;
    model.input("x", {2}).ints("one", {1}).ints("given", {truth});
    model.node("Equal", {"one", "given"}, {"c"});
    model.node("If", {"c"}, {"y"},
               {{"then_branch", branch("Relu", {"x"})},
                {"else_branch", branch("Neg", {"x"})}});
    auto y = model.output("y").run({{{2}, {-1, 2}}});
    EXPECT_EQ(y[0].data, truth ? (Floats{0, 2}) : (Floats{1, -2}));
  }
}

TEST(ImportIf, ComputedConditionChooses) {
  OnnxTestModel model;
  model.input("x", {2}).input("c", {}, onnx::TensorProto::BOOL);
  model.node("If", {"c"}, {"y"},
             {{"then_branch", branch("Relu", {"x"})},
              {"else_branch", branch("Neg", {"x"})}});
  model.output("y");
  Tensor x{{2}, {-1, 2}};
  EXPECT_EQ(model.run({x, intTensor(DType::Bool, {}, {1})})[0].data,
            (Floats{0, 2}));
  EXPECT_EQ(model.run({x, intTensor(DType::Bool, {}, {0})})[0].data,
            (Floats{1, -2}));
}

TEST(ImportIf, BranchesOfUnlikeShapes) {
  OnnxTestModel model;
  model.input("x", {2}).input("c", {}, onnx::TensorProto::BOOL);
  model.input("z", {3});
  model.node("If", {"c"}, {"y"},
             {{"then_branch", branch("Relu", {"x"})},
              {"else_branch", branch("Neg", {"z"})}});
  EXPECT_NE(model.output("y").error().find("unlike"), std::string::npos);
}

TEST(ImportIf, UnsupportedInsideIsInTheTable) {
  OnnxTestModel model;
  model.input("x", {2}).ints("one", {1}).node("Equal", {"one", "one"}, {"c"});
  model.node("If", {"c"}, {"y"},
             {{"then_branch", branch("Strange", {"x"})},
              {"else_branch", branch("Neg", {"x"})}});
  EXPECT_NE(model.output("y").error().find("Strange"), std::string::npos);
}

TEST(ImportIf, NamesThatNobodyDefines) {
  OnnxTestModel model;
  model.input("x", {2}).ints("one", {1}).node("Equal", {"one", "one"}, {"c"});
  model.node("If", {"c"}, {"y"},
             {{"then_branch", branch("Relu", {"nothing"})},
              {"else_branch", branch("Neg", {"x"})}});
  EXPECT_NE(model.output("y").error().find("reads 'nothing'"),
            std::string::npos);
}

TEST(ImportLoop, UnrollsAndStacks) {
  OnnxTestModel model;
  model.input("x", {2}).input("s", {2}).ints("trips", {}, {3});
  model.node("Loop", {"trips", "", "s"}, {"sum", "all"}, {{"body", adding()}});
  auto y =
      model.output("sum").output("all").run({{{2}, {1, 2}}, {{2}, {10, 20}}});
  EXPECT_EQ(y[0].data, (Floats{13, 26}));
  EXPECT_EQ(y[1].dims, (Dims{3, 2}));
  EXPECT_EQ(y[1].data, (Floats{11, 22, 12, 24, 13, 26}));
}

TEST(ImportLoop, RefusesWhatIsNotKnown) {
  OnnxTestModel computed;
  computed.input("x", {2}).input("s", {2});
  computed.input("trips", {}, onnx::TensorProto::INT64);
  computed.node("Loop", {"trips", "", "s"}, {"sum", "all"},
                {{"body", adding()}});
  EXPECT_NE(computed.output("sum").error().find("trip count"),
            std::string::npos);
  OnnxTestModel endless;
  endless.input("x", {2}).input("s", {2});
  endless.node("Loop", {"", "", "s"}, {"sum", "all"}, {{"body", adding()}});
  EXPECT_NE(endless.output("sum").error().find("64 iterations"),
            std::string::npos);
  OnnxTestModel narrow;
  narrow.input("x", {2}).ints("trips", {}, {1});
  narrow.node("Loop", {"trips", ""}, {"sum", "all"}, {{"body", adding()}});
  EXPECT_NE(narrow.output("sum").error().find("missing"), std::string::npos);
}

TEST(ImportLoop, NestedLoopsEnd) {
  onnx::GraphProto inner = adding();
  for (int depth = 0; depth < 3; ++depth) {
    OnnxTestModel body;
    body.input("i", {}, onnx::TensorProto::INT64);
    body.input("go", {}, onnx::TensorProto::BOOL).input("sum", {2});
    body.node("Identity", {"go"}, {"on"});
    body.node("Loop", {"trips", "", "sum"}, {"next", ""}, {{"body", inner}});
    body.output("on").output("next");
    inner = body.graph();
  }
  OnnxTestModel model;
  model.input("x", {2}).input("s", {2}).ints("trips", {}, {64});
  model.node("Loop", {"trips", "", "s"}, {"y"}, {{"body", inner}});
  EXPECT_NE(model.output("y").error(), "no error");
}
