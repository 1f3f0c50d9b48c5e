#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

const ConvAttributes &convOf(const ImportedModel &model) {
  return std::get<ConvAttributes>(model.graph.nodes[0].attributes);
}

OnnxTestModel conv(std::vector<Attr> attributes, Dims x = {1, 1, 5, 5}) {
  OnnxTestModel model;
  model.input("x", x).weight("w", {1, 1, 3, 3}, Floats(9, 1));
  model.node("Conv", {"x", "w"}, {"y"}, std::move(attributes)).output("y");
  return model;
}

TEST(ImportConv, DefaultsAndHandValue) {
  auto y = conv({}).run({iota({1, 1, 5, 5})});
  EXPECT_EQ(y[0].dims, (Dims{1, 1, 3, 3}));
  EXPECT_EQ(y[0].data[0], 54); // 0+1+2 + 5+6+7 + 10+11+12
}

TEST(ImportConv, PadsStridesDilations) {
  auto model = conv({{"pads", Attr::Ints{1, 2, 3, 4}},
                     {"strides", Attr::Ints{2, 1}},
                     {"dilations", Attr::Ints{1, 2}}})
                   .import();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(convOf(*model).windows[0], (Window{3, 2, 1, 1, 3}));
  EXPECT_EQ(convOf(*model).windows[1], (Window{3, 1, 2, 2, 4}));
}

TEST(ImportConv, AutoPad) {
  auto upper = conv({{"auto_pad", "SAME_UPPER"}, {"strides", Attr::Ints{2, 2}}},
                    {1, 1, 6, 6})
                   .import();
  ASSERT_TRUE(upper);
  EXPECT_EQ(convOf(*upper).windows[0], (Window{3, 2, 1, 0, 1}));
  auto lower = conv({{"auto_pad", "SAME_LOWER"}, {"strides", Attr::Ints{2, 2}}},
                    {1, 1, 6, 6})
                   .import();
  EXPECT_EQ(convOf(*lower).windows[0], (Window{3, 2, 1, 1, 0}));
  auto valid = conv({{"auto_pad", "VALID"}}).import();
  EXPECT_EQ(convOf(*valid).windows[0], (Window{3, 1, 1, 0, 0}));
}

TEST(ImportConv, OneSpatialDimWithBiasAndGroups) {
  OnnxTestModel model;
  model.input("x", {1, 2, 3}).weight("w", {2, 1, 2}, {1, 1, 1, -1});
  model.weight("b", {2}, {100, 200});
  model.node("Conv", {"x", "w", "b"}, {"y"}, {{"group", 2}}).output("y");
  EXPECT_EQ(model.run({iota({1, 2, 3})})[0].data, (Floats{101, 103, 199, 199}));
}

TEST(ImportConv, Refusals) {
  EXPECT_NE(conv({{"auto_pad", "SAME"}}).error().find("auto_pad 'SAME'"),
            std::string::npos);
  EXPECT_NE(conv({{"kernel_shape", Attr::Ints{2, 2}}}).error().find("differs"),
            std::string::npos);
  EXPECT_NE(conv({{"pads", Attr::Ints{1}}}).error().find("entries"),
            std::string::npos);
  EXPECT_NE(conv({{"group", 2}}).error().find("groups"), std::string::npos);
  EXPECT_NE(conv({{"strides", "2"}}).error().find("wrong kind"),
            std::string::npos);
  std::string located = conv({{"strides", Attr::Ints{0, 1}}}).error();
  EXPECT_NE(located.find("node 'Conv_0' (Conv), opset 17"), std::string::npos)
      << located;
}

TEST(ImportConv, ThreeSpatialDimsInGroups) {
  OnnxTestModel model;
  model.input("x", {1, 2, 3, 1, 2}).weight("w", {2, 1, 2, 1, 1}, {1, 10, 2, 3});
  model.node("Conv", {"x", "w"}, {"y"},
             {{"group", 2}, {"pads", Attr::Ints{1, 0, 0, 0, 0, 0}}});
  auto y = model.output("y").run({iota({1, 2, 3, 1, 2}, 1)});
  EXPECT_EQ(y[0].dims, (Dims{1, 2, 3, 1, 2}));
  EXPECT_EQ(y[0].data,
            (Floats{10, 20, 31, 42, 53, 64, 21, 24, 41, 46, 51, 56}));
}

TEST(ImportConv, FourSpatialDimsAreUnsupported) {
  OnnxTestModel model;
  model.input("x", {1, 1, 3, 3, 3, 3}).weight("w", {1, 1, 1, 1, 1, 1}, {1});
  model.node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_NE(model.error().find("4 spatial dims"), std::string::npos);
}

namespace {

Floats transposed(std::vector<Attr> attributes, Dims kernel = {1, 1, 3}) {
  OnnxTestModel model;
  model.input("x", {1, 1, 3});
  model.weight("w", kernel, Floats(size_t(countOf(kernel)), 1));
  model.node("ConvTranspose", {"x", "w"}, {"y"}, std::move(attributes));
  return model.output("y").run({{{1, 1, 3}, {1, 2, 3}}})[0].data;
}

} // namespace

TEST(ImportConvTranspose, StridesPadsAndShapes) {
  EXPECT_EQ(transposed({}), (Floats{1, 3, 6, 5, 3}));
  EXPECT_EQ(transposed({{"strides", Attr::Ints{2}}}),
            (Floats{1, 1, 3, 2, 5, 3, 3}));
  EXPECT_EQ(transposed({{"pads", Attr::Ints{1, 1}}}), (Floats{3, 6, 5}));
  EXPECT_EQ(transposed({{"strides", Attr::Ints{2}},
                        {"output_padding", Attr::Ints{1}}}),
            (Floats{1, 1, 3, 2, 5, 3, 3, 0}));
  EXPECT_EQ(
      transposed({{"strides", Attr::Ints{2}}, {"output_shape", Attr::Ints{6}}}),
      (Floats{1, 3, 2, 5, 3, 3}));
  EXPECT_EQ(transposed({{"strides", Attr::Ints{2}}}, {1, 1, 2}),
            (Floats{1, 1, 2, 2, 3, 3}));
}

TEST(ImportConvTranspose, Refusals) {
  auto error = [](std::vector<Attr> attributes) {
    OnnxTestModel model;
    model.input("x", {1, 2, 3}).weight("w", {2, 1, 2}, Floats(4, 1));
    model.node("ConvTranspose", {"x", "w"}, {"y"}, std::move(attributes));
    return model.output("y").error();
  };
  EXPECT_NE(error({{"group", 3}}).find("groups"), std::string::npos);
  EXPECT_NE(error({{"pads", Attr::Ints{3, 3}}}).find("pads leave nothing"),
            std::string::npos);
  EXPECT_NE(error({{"output_padding", Attr::Ints{-1}}}).find("output_padding"),
            std::string::npos);
  EXPECT_NE(error({{"output_shape", Attr::Ints{1, 1}}}).find("entries"),
            std::string::npos);
}

} // namespace
