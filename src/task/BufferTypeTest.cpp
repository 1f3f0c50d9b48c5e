//===- BufferTypeTest.cpp -------------------------------------------------===//

#include "task/BufferType.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tlm;

TEST(BufferType, PlainIsRowMajor) {
  BufferType type{.dims = {2, 3, 4}};
  EXPECT_EQ(type.elementCount(), 24);
  EXPECT_EQ(type.strides(), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(type.origin(), 0);
  EXPECT_EQ(type.text(), "f32 plain[2,3,4]");
}

TEST(BufferType, NhwcCountsBorderAndPaddingLanes) {
  BufferType type{.layout = Layout::Nhwc,
                  .dims = {1, 24, 5, 7},
                  .channelStride = 32,
                  .border = {1, 2, 3, 4, 0}};
  EXPECT_EQ(type.elementCount(), 8 * 14 * 32);
  EXPECT_EQ(type.strides(),
            (std::vector<int64_t>{8 * 14 * 32, 1, 14 * 32, 32}));
  EXPECT_EQ(type.origin(), (1 * 14 + 3) * 32);
  EXPECT_EQ(type.text(), "f32 nhwc[1,24,5,7]c32 border(1,2,3,4)=0");
}

TEST(BufferType, PlainWithBorder) {
  BufferType type{
      .dims = {1, 3, 4, 4},
      .border = {1, 1, 1, 1, -std::numeric_limits<float>::infinity()}};
  EXPECT_EQ(type.strides(), (std::vector<int64_t>{108, 36, 6, 1}));
  EXPECT_EQ(type.origin(), 7);
  EXPECT_EQ(type.text(), "f32 plain[1,3,4,4] border(1,1,1,1)=-inf");
}

TEST(BufferType, RankZeroHasOneElement) {
  EXPECT_EQ(BufferType{}.elementCount(), 1);
  EXPECT_EQ(BufferType{}.text(), "f32 plain[]");
}
