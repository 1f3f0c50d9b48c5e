//===- VectorKernels.h - Kernels.h over vectors of 16 floats ----*- C++ -*-===//
//
// Included once per instruction set, with TLM_KERNELS (the table's name),
// TLM_KERNELS_NAME, TLM_TILE_ROWS and TLM_TILE_VECTORS defined: rows and
// vectors of the matmul's register tile. The compiler splits the 16 lanes into
// the registers that there are.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_VECTORKERNELS_H
#define TLM_MODEL_VECTORKERNELS_H

#include "model/Kernels.h"

#define TLM_INLINE static inline __attribute__((always_inline))

namespace tlm {
namespace {

using Vector = float __attribute__((vector_size(64)));
using Bits = uint32_t __attribute__((vector_size(64)));

TLM_INLINE Vector load(const float *p) {
  Vector x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
TLM_INLINE void store(float *p, Vector x) {
  __builtin_memcpy(p, &x, sizeof(x));
}
TLM_INLINE Vector splat(float x) {
  return Vector{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
TLM_INLINE Vector fma(Vector a, Vector b, Vector c) {
  return __builtin_elementwise_fma(a, b, c);
}

TLM_INLINE float sumOfLanes(Vector x) {
  float lanes[kLanes];
  store(lanes, x);
  for (int64_t apart = kLanes / 2; apart > 0; apart /= 2)
    for (int64_t i = 0; i < apart; ++i)
      lanes[i] += lanes[i + apart];
  return lanes[0];
}

/// 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2], as in Cephes' expf.
TLM_INLINE Vector exponentialOf(Vector x) {
  x = x < splat(-87.3f) ? splat(-87.3f) : x;
  x = x > splat(88.3f) ? splat(88.3f) : x;
  // Adding 1.5 * 2^23 leaves the rounded number in the low bits.
  const Vector magic = splat(12582912.0f);
  Vector shifted = fma(x, splat(1.44269504f), magic);
  Vector n = shifted - magic;
  Vector r = fma(n, splat(-0.693359375f), x);
  r = fma(n, splat(2.12194440e-4f), r);
  Vector p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  p = fma(p * r, r, r) + splat(1.0f);
  Bits bits = ((Bits)shifted - (Bits)magic + 127) << 23;
  return p * (Vector)bits;
}

/// Rows [0, R) of one tile, N vectors wide. x: [depth][R].
template <int R, int N>
void tile(const float *x, const float *panel, const float *bias, float *y,
          int64_t yStride, int64_t depth, bool add) {
  Vector sums[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n)
      sums[r][n] = load(bias + n * kLanes);
  for (int64_t k = 0; k < depth; ++k, x += R, panel += kPanelColumns) {
    Vector w[N];
    for (int n = 0; n < N; ++n)
      w[n] = load(panel + n * kLanes);
    for (int r = 0; r < R; ++r) {
      Vector value = splat(x[r]);
      for (int n = 0; n < N; ++n)
        sums[r][n] = fma(value, w[n], sums[r][n]);
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) {
      float *to = y + r * yStride + n * kLanes;
      store(to, add ? load(to) + sums[r][n] : sums[r][n]);
    }
}

using Tile = void (*)(const float *, const float *, const float *, float *,
                      int64_t, int64_t, bool);

/// tiles[r - 1] computes r rows.
template <int N, int... R>
struct TileTable {
  static constexpr Tile tiles[] = {tile<R, N>...};
};
template <int N, int Rows, int... R>
struct TilesUpTo : TilesUpTo<N, Rows - 1, Rows, R...> {};
template <int N, int... R>
struct TilesUpTo<N, 0, R...> : TileTable<N, R...> {};

void matmul(const float *x, int64_t xStride, const MatrixView *w, float *y,
            int64_t yStride, int64_t rows, bool add, float *scratch) {
  // Tiles of about the same height, each packed as [depth][height].
  const int64_t tiles = (rows + TLM_TILE_ROWS - 1) / TLM_TILE_ROWS;
  const int64_t depth = w->depth;
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t begin = rows * t / tiles, height = rows * (t + 1) / tiles - begin;
    float *packed = scratch + begin * depth;
    for (int64_t r = 0; r < height; ++r)
      for (int64_t k = 0; k < depth; ++k)
        packed[k * height + r] = x[(begin + r) * xStride + k];
  }
  for (int64_t c = 0; c < w->columns;) {
    int64_t inPanel = c % kPanelColumns;
    const float *panel = w->panels + (c - inPanel) * depth + inPanel;
    bool wide = TLM_TILE_VECTORS == 2 && inPanel == 0 &&
                c + kPanelColumns <= w->columns;
    const Tile *table = wide ? TilesUpTo<2, TLM_TILE_ROWS>::tiles
                             : TilesUpTo<1, TLM_TILE_ROWS>::tiles;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t begin = rows * t / tiles, height = rows * (t + 1) / tiles - begin;
      table[height - 1](scratch + begin * depth, panel, w->bias + c,
                        y + begin * yStride + c, yStride, depth, add);
    }
    c += wide ? kPanelColumns : kLanes;
  }
}

void normalise(const float *x, const float *gain, const float *bias, float *y,
               int64_t width, float epsilon) {
  Vector sums = {};
  for (int64_t i = 0; i < width; i += kLanes)
    sums += load(x + i);
  Vector mean = splat(sumOfLanes(sums) / (float)width);
  Vector squares = {};
  for (int64_t i = 0; i < width; i += kLanes) {
    Vector d = load(x + i) - mean;
    squares = fma(d, d, squares);
  }
  float variance = sumOfLanes(squares) / (float)width;
  Vector inverse = splat(1.0f / __builtin_sqrtf(variance + epsilon));
  for (int64_t i = 0; i < width; i += kLanes) {
    Vector d = (load(x + i) - mean) * inverse;
    store(y + i, fma(d, load(gain + i), load(bias + i)));
  }
}

void gelu(float *x, int64_t count) {
  const Vector linear = splat(-1.5957691216f), cubic = splat(-0.0713548162726f);
  for (int64_t i = 0; i < count; i += kLanes) {
    Vector v = load(x + i);
    Vector e = exponentialOf(v * fma(v * v, cubic, linear));
    store(x + i, v / (splat(1.0f) + e));
  }
}

void exponential(float *x, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(x + i, exponentialOf(load(x + i)));
  for (; i < count; ++i)
    x[i] = exponentialOf(splat(x[i]))[0];
}

float dot(const float *a, const float *b, int64_t count) {
  Vector sums = {};
  for (int64_t i = 0; i < count; i += kLanes)
    sums = fma(load(a + i), load(b + i), sums);
  return sumOfLanes(sums);
}

/// scores = exp(scores - largest); returns one over their sum.
TLM_INLINE float softmax(float *scores, int64_t count) {
  float largest = scores[0];
  for (int64_t i = 1; i < count; ++i)
    largest = scores[i] > largest ? scores[i] : largest;
  Vector sums = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector e = exponentialOf(load(scores + i) - splat(largest));
    store(scores + i, e);
    sums += e;
  }
  if (i < count) {
    Vector e = exponentialOf(load(scores + i) - splat(largest));
    for (int64_t lane = count - i; lane < kLanes; ++lane)
      e[lane] = 0;
    store(scores + i, e);
    sums += e;
  }
  return 1.0f / sumOfLanes(sums);
}

/// Q queries at a time; the order inside each is that of Q = 1.
template <int Q>
void attendTile(const float *query, int64_t queryStride,
                const AttentionSpan *spans, int64_t spanCount,
                int64_t headWidth, float scale, float *out, int64_t outStride,
                float *scratch) {
  int64_t positions = 0;
  for (int64_t s = 0; s < spanCount; ++s)
    positions += spans[s].count;
  const int64_t stride = positions + 2 * kLanes;

  // A span's last vector runs over; the next span's first one overwrites that.
  int64_t first = 0;
  for (int64_t s = 0; s < spanCount; first += spans[s++].count)
    for (int64_t j = 0; j < spans[s].count; j += kLanes) {
      Vector sums[Q] = {};
      const float *keys = spans[s].keys + j;
      for (int64_t d = 0; d < headWidth; ++d, keys += spans[s].keyStride) {
        Vector key = load(keys);
        for (int q = 0; q < Q; ++q)
          sums[q] = fma(splat(query[q * queryStride + d]), key, sums[q]);
      }
      for (int q = 0; q < Q; ++q)
        store(scratch + q * stride + first + j, sums[q] * splat(scale));
    }

  const int64_t common = positions - (Q - 1); // what the first query sees
  float inverse[Q];
  for (int q = 0; q < Q; ++q)
    inverse[q] = softmax(scratch + q * stride, common + q);

  for (int64_t c = 0; c < headWidth; c += kLanes) {
    Vector sums[Q] = {};
    int64_t position = 0;
    for (int64_t s = 0; s < spanCount; ++s) {
      const float *values = spans[s].values + c;
      int64_t end = position + spans[s].count;
      int64_t shared = end < common ? end : common;
      for (; position < shared; ++position, values += spans[s].valueStride) {
        Vector value = load(values);
        for (int q = 0; q < Q; ++q)
          sums[q] = fma(splat(scratch[q * stride + position]), value, sums[q]);
      }
      for (; position < end; ++position, values += spans[s].valueStride)
        for (int q = 0; q < Q; ++q)
          if (position < common + q)
            sums[q] = fma(splat(scratch[q * stride + position]), load(values),
                          sums[q]);
    }
    for (int q = 0; q < Q; ++q)
      store(out + q * outStride + c, sums[q] * splat(inverse[q]));
  }
}

void attend(const float *query, int64_t queryStride, int64_t queries,
            const AttentionSpan *spans, int64_t spanCount, int64_t headWidth,
            float scale, float *out, int64_t outStride, float *scratch) {
  constexpr int64_t kMaxSpans = 16;
  constexpr int kQueries = 8;
  AttentionSpan seen[kMaxSpans];
  for (int64_t s = 0; s < spanCount; ++s)
    seen[s] = spans[s];
  int64_t &last = seen[spanCount - 1].count;
  last -= queries;
  int64_t q = 0;
  for (; q + kQueries <= queries; q += kQueries) {
    last += kQueries;
    attendTile<kQueries>(query + q * queryStride, queryStride, seen, spanCount,
                         headWidth, scale, out + q * outStride, outStride,
                         scratch);
  }
  for (; q < queries; ++q) {
    ++last;
    attendTile<1>(query + q * queryStride, queryStride, seen, spanCount,
                  headWidth, scale, out + q * outStride, outStride, scratch);
  }
}

} // namespace

extern const Kernels TLM_KERNELS = {TLM_KERNELS_NAME, matmul, normalise, gelu,
                                    exponential,      dot,    attend};

} // namespace tlm

#endif // TLM_MODEL_VECTORKERNELS_H
