#include "import/OnnxTestModel.h"

using namespace tlm;

namespace {

/// A line of four elements 0..3, resized by scale or to a size.
OnnxTestModel resize(std::vector<Attr> attributes, float scale,
                     int64_t size = 0) {
  OnnxTestModel model(19);
  model.input("x", {1, 1, 1, 4}).weight("scales", {4}, {1, 1, 1, scale});
  model.ints("sizes", {1, 1, 1, size});
  model.node("Resize",
             size ? std::vector<std::string>{"x", "", "", "sizes"}
                  : std::vector<std::string>{"x", "", "scales"},
             {"y"}, std::move(attributes));
  model.output("y");
  return model;
}

Floats resized(std::vector<Attr> attributes, float scale, int64_t size = 0) {
  return resize(std::move(attributes), scale, size)
      .run({iota({1, 1, 1, 4})})[0]
      .data;
}

} // namespace

TEST(ImportResize, Nearest) {
  EXPECT_EQ(resized({}, 2), (Floats{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(resized({}, 0.5f), (Floats{0, 2}));
  EXPECT_EQ(resized({{"nearest_mode", "ceil"}}, 0.5f), (Floats{1, 3}));
  EXPECT_EQ(resized({{"coordinate_transformation_mode", "asymmetric"},
                     {"nearest_mode", "floor"}},
                    0, 6),
            (Floats{0, 0, 1, 2, 2, 3}));
}

TEST(ImportResize, Linear) {
  EXPECT_EQ(resized({{"mode", "linear"}}, 2),
            (Floats{0, 0.25f, 0.75f, 1.25f, 1.75f, 2.25f, 2.75f, 3}));
  EXPECT_EQ(resized({{"mode", "linear"},
                     {"coordinate_transformation_mode", "align_corners"}},
                    0, 7),
            (Floats{0, 0.5f, 1, 1.5f, 2, 2.5f, 3}));
  EXPECT_EQ(resized({{"mode", "linear"}}, 1), (Floats{0, 1, 2, 3}));
}

TEST(ImportResize, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(resize({{"mode", "lanczos"}}, 2).error().find("lanczos"),
            std::string::npos);
  EXPECT_NE(resize({{"coordinate_transformation_mode", "odd"}}, 2)
                .error()
                .find("odd"),
            std::string::npos);
  for (float scale : {-1.0f, 0.0f, 1e30f, -1e30f})
    EXPECT_NE(resize({}, scale).error(), "no error") << scale;
  EXPECT_NE(resize({}, 0, -3).error(), "no error");
  EXPECT_NE(resize({{"mode", "linear"}}, 0, int64_t(1) << 40).error(),
            "no error");
}

TEST(ImportUpsample, IsAsymmetricNearest) {
  OnnxTestModel model(9);
  model.input("x", {1, 1, 1, 2}).weight("s", {4}, {1, 1, 2, 3});
  model.node("Upsample", {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(model.run({iota({1, 1, 1, 2})})[0].data,
            (Floats{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}
