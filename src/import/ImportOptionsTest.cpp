#include "import/ImportOptions.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

TEST(ParseShape, EveryForm) {
  auto shape = parseShape("x:1x3x224x224");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->input, "x");
  EXPECT_EQ(shape->dims, (Dims{1, 3, 224, 224}));
  EXPECT_EQ(parseShape("x:[1, 3]")->dims, (Dims{1, 3}));
  EXPECT_EQ(parseShape("0:?x-1x5")->dims, (Dims{-1, -1, 5}));
  EXPECT_EQ(parseShape("1x2")->input, "");
  EXPECT_EQ(parseShape("scope:x:0:7")->input, "scope:x:0");
  EXPECT_EQ(parseShape("x:[]")->dims, Dims{});
}

TEST(ParseShape, Refusals) {
  for (const char *text :
       {"", "x:", "x:1xx2", "x:a", "x:[1,2", "x:-2", "x:1x",
        "x:99999999999999999999", "x:4294967296x4294967296"}) {
    auto shape = parseShape(text);
    ASSERT_FALSE(shape) << text;
    EXPECT_EQ(shape.error().code, ErrorCode::Usage);
    EXPECT_FALSE(shape.error().hint.empty());
  }
}

TEST(ParseDim, NameAndNumber) {
  EXPECT_EQ(*parseDim("batch=8"), std::pair(std::string("batch"), int64_t(8)));
  for (const char *text : {"", "batch", "=8", "batch=", "batch=x", "batch=-1"})
    EXPECT_FALSE(parseDim(text)) << text;
}

} // namespace
