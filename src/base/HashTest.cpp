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

TEST(Hash, PublishedVectorsOfTheWideForm) {
  EXPECT_EQ(hash128Text(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(hash128Text("a"), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(hash128Text("foobar"), "343e1662793c64bf6f0d3597ba446f18");
}
