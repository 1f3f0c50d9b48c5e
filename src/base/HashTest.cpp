//===- HashTest.cpp -------------------------------------------------------===//

#include "base/Hash.h"

#include <gtest/gtest.h>

using namespace tlm;

// The published vectors of FNV-1a 64: stored keys depend on them.
TEST(Hash, PublishedVectors) {
  EXPECT_EQ(hexText(hash64("")), "cbf29ce484222325");
  EXPECT_EQ(hexText(hash64("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(hexText(hash64("foobar")), "85944171f73967e8");
}

TEST(Hash, HexKeepsLeadingZeros) { EXPECT_EQ(hexText(1), "0000000000000001"); }
