#include "model/Kernels.h"
#include "base/Random.h"
#include "model/LanguageModel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

std::vector<float> randomValues(int64_t count, uint64_t seed,
                                float bound = 1.0f) {
  Random random(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back((float(random.below(1 << 24)) * 0x1p-23f - 1) * bound);
  return values;
}

bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The same results from every table, bit for bit; returns the fastest one's.
template <typename Body>
std::vector<float> onAll(const Body &body) {
  std::vector<float> first;
  for (const Kernels *const *k = supportedKernels(); *k; ++k) {
    std::vector<float> result = body(**k);
    if (first.empty())
      first = result;
    EXPECT_TRUE(sameBits(first, result)) << (*k)->name;
  }
  return first;
}

std::vector<float> matmul(const Kernels &kernels, const std::vector<float> &x,
                          const PackedMatrix &w, std::vector<float> y,
                          int64_t rows, bool add) {
  MatrixView view = w.view();
  std::vector<float> scratch(size_t(rows * view.depth));
  kernels.matmul(x.data(), view.depth, &view, y.data(), view.columns, rows, add,
                 scratch.data());
  return y;
}

TEST(Kernels, ListEndsWithThePortableOnes) {
  const Kernels *const *last = supportedKernels();
  while (last[1])
    ++last;
  EXPECT_STREQ((*last)->name, "portable");
}

TEST(Kernels, MatmulIsOneChainFromTheBias) {
  for (int64_t columns : {16, 32, 48, 112})
    for (int64_t rows : {1, 2, 5, 12, 13, 31}) {
      int64_t depth = 37;
      std::vector<float> x = randomValues(rows * depth, 1),
                         w = randomValues(depth * columns, 2),
                         bias = randomValues(columns, 3),
                         before = randomValues(rows * columns, 4);
      PackedMatrix packed(w, bias);
      for (bool add : {false, true}) {
        std::vector<float> y = onAll([&](const Kernels &kernels) {
          return matmul(kernels, x, packed, before, rows, add);
        });
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c) {
            float sum = bias[size_t(c)];
            for (int64_t k = 0; k < depth; ++k)
              sum = std::fma(x[size_t(r * depth + k)],
                             w[size_t(k * columns + c)], sum);
            if (add)
              sum = before[size_t(r * columns + c)] + sum;
            ASSERT_EQ(y[size_t(r * columns + c)], sum)
                << columns << " columns, row " << r << " of " << rows;
          }
      }
    }
}

TEST(Kernels, ARowDoesNotDependOnTheRowsBesideIt) {
  int64_t depth = 48, columns = 64;
  std::vector<float> x = randomValues(29 * depth, 1);
  PackedMatrix w(randomValues(depth * columns, 2), randomValues(columns, 3));
  const Kernels &kernels = *supportedKernels()[0];
  std::vector<float> empty(size_t(29 * columns));
  std::vector<float> all = matmul(kernels, x, w, empty, 29, false);
  for (int64_t r = 0; r < 29; ++r) {
    std::vector<float> row(x.begin() + r * depth, x.begin() + (r + 1) * depth);
    std::vector<float> alone =
        matmul(kernels, row, w, std::vector<float>(size_t(columns)), 1, false);
    EXPECT_TRUE(sameBits(
        alone, {all.begin() + r * columns, all.begin() + (r + 1) * columns}))
        << r;
  }
}

TEST(Kernels, Normalise) {
  int64_t width = 112;
  std::vector<float> x = randomValues(width, 1), gain = randomValues(width, 2),
                     bias = randomValues(width, 3);
  std::vector<float> y = onAll([&](const Kernels &kernels) {
    std::vector<float> y(static_cast<size_t>(width));
    kernels.normalise(x.data(), gain.data(), bias.data(), y.data(), width,
                      1e-5f);
    return y;
  });
  double mean = 0, variance = 0;
  for (float value : x)
    mean += double(value) / double(width);
  for (float value : x)
    variance += (value - mean) * (value - mean) / double(width);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i],
                (x[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + bias[i],
                1e-6);
}

TEST(Kernels, ExponentialIsGoodToTheLastBits) {
  std::vector<float> x = randomValues(5003, 1, 87.0f);
  std::vector<float> y = onAll([&](const Kernels &kernels) {
    std::vector<float> y = x;
    kernels.exponential(y.data(), int64_t(y.size()));
    return y;
  });
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i] / std::exp(double(x[i])), 1, 2e-7) << x[i];
}

TEST(Kernels, ExponentialOfExtremes) {
  std::vector<float> x = {0.0f, -0.0f, -1e30f, -INFINITY, 1e30f};
  std::vector<float> y = onAll([&](const Kernels &kernels) {
    std::vector<float> y = x;
    kernels.exponential(y.data(), int64_t(y.size()));
    return y;
  });
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_LT(y[2], 1.3e-38f);
  EXPECT_EQ(y[3], y[2]);
  EXPECT_TRUE(std::isfinite(y[4]) && y[4] > 1e38f);
}

TEST(Kernels, Gelu) {
  std::vector<float> x = randomValues(4096, 1, 12.0f);
  std::vector<float> y = onAll([&](const Kernels &kernels) {
    std::vector<float> y = x;
    kernels.gelu(y.data(), int64_t(y.size()));
    return y;
  });
  for (size_t i = 0; i < x.size(); ++i) {
    double v = x[i], u = 0.7978845608028654 * (v + 0.044715 * v * v * v);
    EXPECT_NEAR(y[i], 0.5 * v * (1 + std::tanh(u)), 2e-6) << v;
  }
}

TEST(Kernels, DotAddsSixteenLanes) {
  std::vector<float> a = randomValues(112, 1), b = randomValues(112, 2);
  std::vector<float> y = onAll([&](const Kernels &kernels) {
    return std::vector<float>{kernels.dot(a.data(), b.data(), 112)};
  });
  float lanes[16] = {};
  for (size_t i = 0; i < a.size(); ++i)
    lanes[i % 16] = std::fma(a[i], b[i], lanes[i % 16]);
  for (size_t apart : {8, 4, 2, 1})
    for (size_t i = 0; i < apart; ++i)
      lanes[i] += lanes[i + apart];
  EXPECT_EQ(y[0], lanes[0]);
}

/// Attention of `queries` positions over `counts` spans of neighbours.
std::vector<float> attend(const Kernels &kernels,
                          const std::vector<int64_t> &counts, int64_t queries) {
  int64_t width = 32, positions = 0;
  for (int64_t count : counts)
    positions += count;
  std::vector<float> query = randomValues(queries * width, 1, 3.0f),
                     keys = randomValues(positions * width, 2),
                     values = randomValues(positions * width, 3);
  std::vector<std::vector<float>> transposed;
  std::vector<AttentionSpan> spans;
  int64_t first = 0;
  for (int64_t count : counts) {
    int64_t stride = count + 3;
    std::vector<float> &t = transposed.emplace_back(width * stride + 16, 7.0f);
    for (int64_t d = 0; d < width; ++d)
      for (int64_t j = 0; j < count; ++j)
        t[size_t(d * stride + j)] = keys[size_t((first + j) * width + d)];
    spans.push_back(
        {t.data(), values.data() + first * width, stride, width, count});
    first += count;
  }
  std::vector<float> out(size_t(queries * width)),
      scratch(size_t(8 * (positions + 32)));
  kernels.attend(query.data(), width, queries, spans.data(),
                 int64_t(spans.size()), width, 0.25f, out.data(), width,
                 scratch.data());
  return out;
}

TEST(Kernels, AttentionIsTheSameForEverySplitIntoSpans) {
  std::vector<float> whole =
      onAll([](const Kernels &kernels) { return attend(kernels, {75}, 19); });
  for (const std::vector<int64_t> &counts :
       {std::vector<int64_t>{16, 59}, {1, 2, 53, 19}, {33, 22, 20}})
    EXPECT_TRUE(sameBits(whole, onAll([&](const Kernels &kernels) {
                           return attend(kernels, counts, 19);
                         })))
        << counts.size();
}

TEST(Kernels, AttentionOfAQueryDoesNotDependOnItsNeighbours) {
  // The last position's weights, alone and as one of 19 queries.
  std::vector<float> many = attend(*supportedKernels()[0], {40}, 19);
  int64_t width = 32, positions = 22; // what the first of the 19 sees
  std::vector<float> query = randomValues(19 * width, 1, 3.0f),
                     keys = randomValues(40 * width, 2),
                     values = randomValues(40 * width, 3);
  for (int64_t d = 0; d < width; ++d) {
    std::vector<double> weights;
    double sum = 0, expected = 0;
    for (int64_t j = 0; j < positions; ++j) {
      double score = 0;
      for (int64_t i = 0; i < width; ++i)
        score += double(query[size_t(i)]) * keys[size_t(j * width + i)];
      weights.push_back(std::exp(score / 4));
      sum += weights.back();
    }
    for (int64_t j = 0; j < positions; ++j)
      expected += weights[size_t(j)] / sum * values[size_t(j * width + d)];
    EXPECT_NEAR(many[size_t(d)], expected, 2e-6);
  }
}

} // namespace
