#include "import/OnnxTestModel.h"

#include <limits>

using namespace tlm;

namespace {

/// x[start:end:step] of the constant 0..4 by way of the importer.
Floats sliced(int64_t start, int64_t end, int64_t step) {
  OnnxTestModel model;
  model.input("unused", {1}).weight("x", {5}, {0, 1, 2, 3, 4});
  model.ints("start", {start}).ints("end", {end}).ints("axis", {-1});
  model.ints("step", {step}).output("y");
  model.node("Slice", {"x", "start", "end", "axis", "step"}, {"y"});
  return model.run({{{1}, {0}}})[0].data;
}

TEST(ImportSlice, ClampsAsOnnxSays) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(sliced(1, 4, 1), (Floats{1, 2, 3}));
  EXPECT_EQ(sliced(-2, most, 1), (Floats{3, 4}));
  EXPECT_EQ(sliced(least, most, 2), (Floats{0, 2, 4}));
  EXPECT_EQ(sliced(0, most, most), (Floats{0}));
  EXPECT_EQ(sliced(most, least, -1), (Floats{4, 3, 2, 1, 0}));
  EXPECT_EQ(sliced(-1, least, -2), (Floats{4, 2, 0}));
  EXPECT_EQ(sliced(3, 0, -2), (Floats{3, 1}));
  EXPECT_EQ(sliced(4, least, least), (Floats{4}));
  EXPECT_EQ(sliced(3, 1, 1), Floats{});
}

TEST(ImportSlice, ComputedTensorIsCropped) {
  OnnxTestModel model(9);
  model.input("x", {2, 4}).output("y");
  model.node("Slice", {"x"}, {"y"},
             {{"starts", Attr::Ints{-3}},
              {"ends", Attr::Ints{100}},
              {"axes", Attr::Ints{1}}});
  EXPECT_EQ(model.run({iota({2, 4})})[0].data, (Floats{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(model.import()->graph.nodes[0].op, Op::Pad);
}

TEST(ImportSlice, StepsOnComputedTensors) {
  for (int64_t step : {2, -2}) {
    OnnxTestModel model;
    model.input("x", {4}).ints("a", {step < 0 ? 3 : 0});
    model.ints("b", {step < 0 ? -9 : 4}).ints("axis", {0}).ints("s", {step});
    model.node("Slice", {"x", "a", "b", "axis", "s"}, {"y"}).output("y");
    EXPECT_EQ(model.run({iota({4})})[0].data,
              step < 0 ? (Floats{3, 1}) : (Floats{0, 2}));
  }
}

TEST(ImportSplit, SizesAndEqualParts) {
  OnnxTestModel model(13);
  model.input("x", {4}).ints("sizes", {1, 3});
  model.node("Split", {"x", "sizes"}, {"a", "b"});
  model.node("Split", {"x"}, {"c", "d"});
  model.output("a").output("b").output("c").output("d");
  auto y = model.run({iota({4})});
  EXPECT_EQ(y[0].data, (Floats{0}));
  EXPECT_EQ(y[1].data, (Floats{1, 2, 3}));
  EXPECT_EQ(y[2].data, (Floats{0, 1}));
  EXPECT_EQ(y[3].data, (Floats{2, 3}));
}

TEST(ImportSplit, Refusals) {
  OnnxTestModel model(13);
  model.input("x", {5}).node("Split", {"x"}, {"a", "b"}).output("a");
  EXPECT_NE(model.error().find("2 equal parts"), std::string::npos);
  OnnxTestModel sizes(11);
  sizes.input("x", {5}).output("a");
  sizes.node("Split", {"x"}, {"a", "b"}, {{"split", Attr::Ints{2, 2}}});
  EXPECT_NE(sizes.error().find("split sizes [2,2]"), std::string::npos);
}

TEST(ImportConcat, AxisAndRank) {
  OnnxTestModel model;
  model.input("a", {1, 2}).input("b", {1, 1}).output("y");
  model.node("Concat", {"a", "b"}, {"y"}, {{"axis", -1}});
  EXPECT_EQ(model.run({iota({1, 2}), iota({1, 1}, 9)})[0].data,
            (Floats{0, 1, 9}));
}

TEST(ImportPad, AttributeInputAndAxes) {
  OnnxTestModel old(9);
  old.input("x", {2}).output("y");
  old.node("Pad", {"x"}, {"y"}, {{"pads", Attr::Ints{1, 0}}, {"value", 7.0f}});
  EXPECT_EQ(old.run({iota({2})})[0].data, (Floats{7, 0, 1}));
  OnnxTestModel fresh(18);
  fresh.input("x", {2, 2}).ints("pads", {-1, 1}).ints("axes", {-1});
  fresh.weight("value", {}, {5}).output("y");
  fresh.node("Pad", {"x", "pads", "value", "axes"}, {"y"});
  EXPECT_EQ(fresh.run({iota({2, 2})})[0].data, (Floats{1, 5, 3, 5}));
}

TEST(ImportPad, Modes) {
  auto padded = [](const char *mode, Attr::Ints pads) {
    OnnxTestModel model(19);
    model.input("x", {3}).ints("pads", pads).output("y");
    model.node("Pad", {"x", "pads"}, {"y"}, {{"mode", mode}});
    return model;
  };
  auto run = [&](const char *mode, Attr::Ints pads) {
    return padded(mode, std::move(pads)).run({iota({3})})[0].data;
  };
  EXPECT_EQ(run("reflect", {2, 2}), (Floats{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(run("edge", {1, 3}), (Floats{0, 0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(run("wrap", {4, 1}), (Floats{2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(run("reflect", {-1, 1}), (Floats{1, 2, 1}));
  EXPECT_EQ(run("reflect", {0, 0}), (Floats{0, 1, 2}));
  EXPECT_NE(padded("reflect", {3, 0}).error().find("fewer are allowed"),
            std::string::npos);
  EXPECT_NE(padded("mirror", {1, 0}).error().find("mode 'mirror'"),
            std::string::npos);
  EXPECT_NE(padded("edge", {-4, 0}).error().find("pad -4"), std::string::npos);
}

TEST(ImportTile, RepeatsAndOverflow) {
  auto tiled = [](Attr::Ints repeats) {
    OnnxTestModel model;
    model.input("x", {1, 2}).ints("r", repeats);
    model.node("Tile", {"x", "r"}, {"y"}).output("y");
    return model;
  };
  EXPECT_EQ(tiled({2, 2}).run({iota({1, 2})})[0].data,
            (Floats{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(tiled({0, 2}).run({iota({1, 2})})[0].dims, (Dims{0, 4}));
  for (Attr::Ints bad : {Attr::Ints{-1, 1}, Attr::Ints{int64_t(1) << 62, 1},
                         Attr::Ints{1}, Attr::Ints{1 << 30, 1 << 30}})
    EXPECT_NE(tiled(bad).error(), "no error");
}

TEST(ImportConcat, IntegersAtRunTime) {
  OnnxTestModel model;
  model.input("a", {2}, onnx::TensorProto::INT32);
  model.input("b", {1}, onnx::TensorProto::INT32);
  model.node("Concat", {"a", "b", "a"}, {"y"}, {{"axis", 0}}).output("y");
  auto y = model.run(
      {intTensor(DType::I32, {2}, {1, -2}), intTensor(DType::I32, {1}, {7})});
  EXPECT_EQ(intsOf(y[0]), (Attr::Ints{1, -2, 7, 1, -2}));
}

TEST(ImportTrilu, UpperAndLowerWithDiagonal) {
  OnnxTestModel model;
  model.input("x", {2, 3}).ints("k", {}, {1});
  model.node("Trilu", {"x", "k"}, {"u"});
  model.node("Trilu", {"x"}, {"l"}, {{"upper", 0}}).output("u").output("l");
  auto y = model.run({iota({2, 3}, 1)});
  EXPECT_EQ(y[0].data, (Floats{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(y[1].data, (Floats{1, 0, 0, 4, 5, 0}));
}

TEST(ImportTranspose, DefaultReverses) {
  OnnxTestModel model;
  model.input("x", {2, 3, 4}).node("Transpose", {"x"}, {"y"}).output("y");
  EXPECT_EQ(model.run({iota({2, 3, 4})})[0].dims, (Dims{4, 3, 2}));
}

TEST(ImportGather, ConstantsOnly) {
  OnnxTestModel model;
  model.input("x", {2}).weight("table", {3, 2}, {0, 1, 10, 11, 20, 21});
  model.ints("at", {-1, 0}).output("y");
  model.node("Gather", {"table", "at"}, {"g"}).node("Add", {"g", "x"}, {"y"});
  EXPECT_EQ(model.run({{{2}, {0, 0}}})[0].data, (Floats{20, 21, 0, 1}));
  OnnxTestModel outside;
  outside.weight("table", {3}, {0, 1, 2}).ints("at", {3}).output("y");
  outside.node("Gather", {"table", "at"}, {"y"});
  EXPECT_NE(outside.error().find("index 3 is outside [-3,2]"),
            std::string::npos);
}

} // namespace
