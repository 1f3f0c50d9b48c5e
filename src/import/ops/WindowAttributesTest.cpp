#include "import/ops/WindowAttributes.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

TEST(PadSame, SweepAgainstTheDefinition) {
  for (int64_t kernel = 1; kernel <= 5; ++kernel)
    for (int64_t stride = 1; stride <= 3; ++stride)
      for (int64_t dilation = 1; dilation <= 2; ++dilation)
        for (int64_t extent = 1; extent <= 9; ++extent) {
          Window upper{kernel, stride, dilation, 0, 0}, lower = upper;
          padSame(upper, extent, true);
          padSame(lower, extent, false);
          int64_t reach = dilation * (kernel - 1) + 1;
          int64_t total = upper.padBegin + upper.padEnd;
          EXPECT_EQ(lower.padBegin, upper.padEnd);
          EXPECT_EQ(lower.padEnd, upper.padBegin);
          EXPECT_GE(upper.padEnd, upper.padBegin);
          EXPECT_LE(upper.padEnd - upper.padBegin, 1);
          EXPECT_EQ(upper.outputExtent(extent), (extent + stride - 1) / stride);
          // No smaller padding would do.
          if (total > 0) {
            EXPECT_EQ((upper.outputExtent(extent) - 1) * stride + reach,
                      extent + total);
          }
        }
}

TEST(PadForCeil, LastWindowStartsInside) {
  for (int64_t kernel = 1; kernel <= 4; ++kernel)
    for (int64_t stride = 1; stride <= 4; ++stride)
      for (int64_t pad = 0; pad < kernel; ++pad)
        for (int64_t extent = kernel; extent <= 10; ++extent) {
          Window window{kernel, stride, 1, pad, pad}, before = window;
          int64_t overhang = padForCeil(window, extent);
          EXPECT_EQ(window.padEnd, pad + overhang);
          int64_t count = window.outputExtent(extent);
          EXPECT_GE(count, before.outputExtent(extent));
          EXPECT_LE(count, before.outputExtent(extent) + 1);
          EXPECT_LT((count - 1) * stride, extent + pad);
          // One more window would start in the padding or behind it.
          bool fits = count * stride < extent + pad &&
                      count * stride + kernel <= extent + 2 * pad + stride - 1;
          EXPECT_FALSE(fits)
              << kernel << " " << stride << " " << pad << " " << extent;
        }
}

} // namespace
