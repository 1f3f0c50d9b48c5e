#include "import/OnnxTestModel.h"

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

OnnxTestModel pool(const std::string &op, Dims x,
                   std::vector<Attr> attributes) {
  OnnxTestModel model(19);
  model.input("x", x).node(op, {"x"}, {"y"}, std::move(attributes));
  model.output("y");
  return model;
}

TEST(ImportPool, MaxPoolCeilMode) {
  auto y = pool("MaxPool", {1, 1, 4},
                {{"kernel_shape", Attr::Ints{2}},
                 {"strides", Attr::Ints{3}},
                 {"ceil_mode", 1}})
               .run({iota({1, 1, 4}, -9)});
  EXPECT_EQ(y[0].data, (Floats{-8, -6}));
}

TEST(ImportPool, CeilWindowInTheEndPaddingIsDropped) {
  // ceil((2 + 2 - 1) / 2) + 1 = 3 windows, but the third starts at 4 - 1 = 3.
  auto y = pool("MaxPool", {1, 1, 2},
                {{"kernel_shape", Attr::Ints{1}},
                 {"strides", Attr::Ints{2}},
                 {"ceil_mode", 1}})
               .run({iota({1, 1, 2})});
  EXPECT_EQ(y[0].dims, (Dims{1, 1, 1}));
}

/// Every combination against the definition, for one spatial dim.
TEST(ImportPool, AveragePoolSweep) {
  for (int64_t kernel = 1; kernel <= 3; ++kernel)
    for (int64_t stride = 1; stride <= 3; ++stride)
      for (int64_t pad = 0; pad < kernel; ++pad)
        for (int ceil = 0; ceil <= 1; ++ceil)
          for (int include = 0; include <= 1; ++include)
            for (int64_t extent = 3; extent <= 6; ++extent) {
              Tensor x = iota({1, 1, extent}, 1);
              Tensor y = pool("AveragePool", {1, 1, extent},
                              {{"kernel_shape", Attr::Ints{kernel}},
                               {"strides", Attr::Ints{stride}},
                               {"pads", Attr::Ints{pad, pad}},
                               {"ceil_mode", ceil},
                               {"count_include_pad", include}})
                             .run({x})[0];
              Floats expected;
              for (int64_t start = -pad;; start += stride) {
                int64_t end = start + kernel;
                bool whole = end <= extent + pad;
                if (!whole &&
                    (!ceil || start >= extent || end - extent - pad >= stride))
                  break;
                float sum = 0;
                int64_t terms = 0;
                for (int64_t i = start; i < end; ++i) {
                  bool inside = i >= 0 && i < extent;
                  sum += inside ? x.data[size_t(i)] : 0;
                  terms += inside || (include && i < extent + pad);
                }
                expected.push_back(sum / float(terms));
              }
              ASSERT_EQ(y.data.size(), expected.size())
                  << kernel << stride << pad << ceil << extent;
              for (size_t i = 0; i < expected.size(); ++i)
                ASSERT_FLOAT_EQ(y.data[i], expected[i]);
            }
}

TEST(ImportPool, SameUpperAveragesTheInputOnly) {
  auto y =
      pool("AveragePool", {1, 1, 3, 3},
           {{"kernel_shape", Attr::Ints{2, 2}}, {"auto_pad", "SAME_UPPER"}})
          .run({iota({1, 1, 3, 3})});
  EXPECT_EQ(y[0].data, (Floats{2, 3, 3.5f, 5, 6, 6.5f, 6.5f, 7.5f, 8}));
}

TEST(ImportPool, Global) {
  EXPECT_EQ(pool("GlobalAveragePool", {1, 2, 2, 2}, {})
                .run({iota({1, 2, 2, 2})})[0]
                .data,
            (Floats{1.5f, 5.5f}));
  auto y = pool("GlobalMaxPool", {1, 2, 2, 2}, {}).run({iota({1, 2, 2, 2})});
  EXPECT_EQ(y[0].data, (Floats{3, 7}));
  EXPECT_EQ(y[0].dims, (Dims{1, 2, 1, 1}));
}

TEST(ImportPool, Refusals) {
  EXPECT_NE(pool("MaxPool", {1, 1, 4}, {}).error().find("kernel_shape"),
            std::string::npos);
  std::string wide =
      pool("MaxPool", {1, 1, 4},
           {{"kernel_shape", Attr::Ints{2}}, {"pads", Attr::Ints{2, 2}}})
          .error();
  EXPECT_NE(wide.find("'MaxPool_0'"), std::string::npos);
  EXPECT_NE(wide.find("lies in the padding"), std::string::npos);
}

TEST(ImportPool, IndicesCountOverTheWholeInput) {
  OnnxTestModel model;
  model.input("x", {1, 2, 4});
  model.node("MaxPool", {"x"}, {"y", "at"},
             {{"kernel_shape", Attr::Ints{2}}, {"strides", Attr::Ints{2}}});
  auto y = model.output("y").output("at").run(
      {{{1, 2, 4}, {1, 5, 3, 2, 0, 0, 7, 9}}});
  EXPECT_EQ(y[0].data, (Floats{5, 3, 0, 9}));
  EXPECT_EQ(intsOf(y[1]), (Attr::Ints{1, 2, 4, 7}));
}

TEST(ImportPool, ThreeSpatialDims) {
  OnnxTestModel model;
  model.input("x", {1, 1, 2, 2, 2});
  std::vector<Attr> attributes = {{"kernel_shape", Attr::Ints{2, 2, 2}},
                                  {"pads", Attr::Ints{1, 0, 0, 0, 0, 0}}};
  model.node("MaxPool", {"x"}, {"m"}, attributes);
  model.node("AveragePool", {"x"}, {"a"}, attributes);
  attributes.push_back({"count_include_pad", 1});
  model.node("AveragePool", {"x"}, {"b"}, attributes);
  auto y =
      model.output("m").output("a").output("b").run({iota({1, 1, 2, 2, 2})});
  EXPECT_EQ(y[0].data, (Floats{3, 7}));
  EXPECT_EQ(y[1].data, (Floats{1.5f, 3.5f}));
  EXPECT_EQ(y[2].data, (Floats{0.75f, 3.5f}));
}

} // namespace
