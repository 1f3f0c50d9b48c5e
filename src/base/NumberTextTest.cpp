//===- NumberTextTest.cpp -------------------------------------------------===//

#include "base/NumberText.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tlm;

TEST(NumberText, FloatsReadBack) {
  for (float value : {0.1f, 6.0f, -1e-38f, 1.0f / 3, 3.4e38f, 1e-45f,
                      std::numeric_limits<float>::infinity()})
    EXPECT_EQ(parseFloat(floatText(value)), value);
  EXPECT_EQ(floatText(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(floatText(-0.0f), "0");
  EXPECT_EQ(floatText(-NAN), "nan");
  EXPECT_TRUE(std::isnan(*parseFloat("nan")));
}

TEST(NumberText, DoublesReadBack) {
  for (double value : {0.1, 1.0 / 3, 12345.678901234567, 5e-324, -1e308})
    EXPECT_EQ(parseDouble(doubleText(value)), value);
  EXPECT_EQ(doubleText(12.5), "12.5");
}

TEST(NumberText, RefusesLeftovers) {
  EXPECT_FALSE(parseFloat("1.0x"));
  EXPECT_FALSE(parseFloat(""));
  EXPECT_FALSE(parseInteger("12 "));
  EXPECT_FALSE(parseInteger("99999999999999999999"));
  EXPECT_EQ(parseInteger("-3"), -3);
}
