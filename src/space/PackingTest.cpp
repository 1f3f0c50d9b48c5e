//===- PackingTest.cpp ----------------------------------------------------===//

#include "space/Packing.h"
#include "space/Winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

using namespace tlm;

static std::vector<float> numbered(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

static void expectAgreement(const Packing &packing) {
  std::vector<float> source = numbered(packing.sourceDims);
  std::vector<float> fast(size_t(packing.elementCount()), NAN);
  std::vector<float> plain(fast.size(), NAN);
  pack(packing, source.data(), fast.data());
  packPlainly(packing.sourceDims, packing.dims, source.data(), plain.data());
  EXPECT_EQ(fast, plain) << packing.text();
}

TEST(Packing, PadsTheLastPanelWithZeros) {
  Packing packing{.sourceDims = {3, 2}, .dims = {{0, 2, 2}, {1, 2}, {0, 2}}};
  std::vector<float> source{1, 2, 3, 4, 5, 6}, packed(8, NAN);
  pack(packing, source.data(), packed.data());
  EXPECT_EQ(packed, (std::vector<float>{1, 3, 2, 4, 5, 0, 6, 0}));
  EXPECT_EQ(packing.text(), "[3,2] -> d0:2*2 d1:2*1 d0:2*1");
}

TEST(Packing, CommonShapesAgreeWithTheDefinition) {
  for (int64_t f : {16, 24, 40, 64})
    for (int64_t c : {3, 16, 35})
      for (int64_t k : {1, 3}) {
        int64_t panels = (f + 31) / 32;
        expectAgreement({.sourceDims = {f, c, k, k},
                         .dims = {{0, panels, 32},
                                  {2, k},
                                  {3, k},
                                  {1, c},
                                  {0, 2, 16},
                                  {0, 16}}});
        expectAgreement(
            {.sourceDims = {c, f}, .dims = {{1, panels, 32}, {0, c}, {1, 32}}});
        expectAgreement(
            {.sourceDims = {f, c}, .dims = {{0, panels, 32}, {1, c}, {0, 32}}});
        expectAgreement(
            {.sourceDims = {f, 1, k, k},
             .dims = {{0, (f + 15) / 16, 16}, {2, k}, {3, k}, {0, 16}}});
        expectAgreement({.sourceDims = {f}, .dims = {{0, 64}}});
      }
}

TEST(Packing, RandomPackingsAgreeWithTheDefinition) {
  std::mt19937 random(7);
  auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 500; ++i) {
    Packing packing;
    for (int64_t rank = pick(1, 4); rank > 0; --rank)
      packing.sourceDims.push_back(pick(1, 21));
    for (int64_t rank = pick(1, 5); rank > 0; --rank)
      packing.dims.push_back(
          {int32_t(pick(0, int64_t(packing.sourceDims.size()) - 1)),
           pick(1, 19), pick(1, 3)});
    if (packing.elementCount() < 200000)
      expectAgreement(packing);
  }
}

/// G w G^T as it is written down.
static std::vector<double> transformByDefinition(const float *w,
                                                 size_t outputs) {
  const std::vector<std::array<double, 3>> two = {{1, 0, 0},
                                                  {1. / 2, 1. / 2, 1. / 2},
                                                  {1. / 2, -1. / 2, 1. / 2},
                                                  {0, 0, 1}};
  const std::vector<std::array<double, 3>> four = {{1. / 4, 0, 0},
                                                   {-1. / 6, -1. / 6, -1. / 6},
                                                   {-1. / 6, 1. / 6, -1. / 6},
                                                   {1. / 24, 1. / 12, 1. / 6},
                                                   {1. / 24, -1. / 12, 1. / 6},
                                                   {0, 0, 1}};
  const auto &g = outputs == 2 ? two : four;
  std::vector<double> u;
  for (size_t i = 0; i < g.size(); ++i)
    for (size_t j = 0; j < g.size(); ++j) {
      double sum = 0;
      for (size_t k = 0; k < 3; ++k)
        for (size_t l = 0; l < 3; ++l)
          sum += g[i][k] * w[k * 3 + l] * g[j][l];
      u.push_back(sum);
    }
  return u;
}

TEST(Packing, WinogradTransform) {
  for (size_t outputs : {2, 4}) {
    size_t values = (outputs + 2) * (outputs + 2);
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> filters(20 * 9), transformed(20 * values);
    for (float &value : filters)
      value = normal(random);
    transformWinogradFilters(filters.data(), 20, int64_t(outputs),
                             transformed.data());
    for (size_t i = 0; i < 20; ++i) {
      std::vector<double> expected =
          transformByDefinition(&filters[i * 9], outputs);
      for (size_t j = 0; j < values; ++j)
        EXPECT_NEAR(transformed[i * values + j], expected[j], 5e-7);
    }
  }
}

TEST(Packing, WinogradPanelsAgreeWithTheDefinition) {
  for (int64_t outputs : {2, 4})
    for (int64_t f : {16, 40, 64}) {
      int64_t c = 19, points = outputs + 2;
      Packing packing{outputs == 2 ? WeightTransform::Winograd2x2_3x3
                                   : WeightTransform::Winograd4x4_3x3,
                      {f, c, 3, 3},
                      {{0, (f + 31) / 32, 32},
                       {2, points},
                       {3, points},
                       {1, c},
                       {0, 2, 16},
                       {0, 16}}};
      std::vector<float> source = numbered(packing.sourceDims);
      std::vector<float> transformed(size_t(f * c * points * points));
      transformWinogradFilters(source.data(), f * c, outputs,
                               transformed.data());
      std::vector<float> fast(size_t(packing.elementCount()), NAN),
          plain = fast;
      pack(packing, source.data(), fast.data());
      packPlainly({f, c, points, points}, packing.dims, transformed.data(),
                  plain.data());
      EXPECT_EQ(fast, plain);
    }
}

TEST(Packing, BlockDiagonalJoinsGroups) {
  // Four filters of one channel and two taps, two groups of one filter joined.
  Packing packing{.transform = WeightTransform::BlockDiagonal,
                  .sourceDims = {4, 1, 2},
                  .dims = {{0, 2, 2}, {1, 2}, {2, 2}, {0, 2}},
                  .blocks = 2,
                  .blockFilters = 1};
  std::vector<float> source{1, 2, 3, 4, 5, 6, 7, 8}, packed(16, NAN);
  pack(packing, source.data(), packed.data());
  // [pair][channel][tap][filter]
  EXPECT_EQ(packed, (std::vector<float>{1, 0, 2, 0, 0, 3, 0, 4, //
                                        5, 0, 6, 0, 0, 7, 0, 8}));
  EXPECT_EQ(packing.text(),
            "block_diagonal 2 of 1 [4,1,2] -> d0:2*2 d1:2*1 d2:2*1 d0:2*1");
}
