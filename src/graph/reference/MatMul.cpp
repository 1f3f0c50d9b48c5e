#include "graph/reference/Kernels.h"

#include <algorithm>

using namespace tlm;

namespace {

constexpr int64_t kRun = 512;   // columns computed together
constexpr int64_t kTerms = 128; // added in float before they go to double

/// y[0, length) of one row: a is (K), b is (K, N) from the run's first column.
void matMulRun(const float *a, const float *b, int64_t depth, int64_t stride,
               int64_t length, float *y) {
  double totals[kRun] = {};
  for (int64_t k0 = 0; k0 < depth; k0 += kTerms) {
    float sums[kRun] = {};
    for (int64_t k = k0; k < std::min(k0 + kTerms, depth); ++k) {
      const float *row = b + k * stride;
      float scale = a[k];
      for (int64_t j = 0; j < length; ++j)
        sums[j] += scale * row[j];
    }
    for (int64_t j = 0; j < length; ++j)
      totals[j] += double(sums[j]);
  }
  for (int64_t j = 0; j < length; ++j)
    y[j] = float(totals[j]);
}

/// Which matrix of an operand with leading dims `from` belongs to matrix
/// `index` of the result with leading dims `to`.
int64_t matrixIndex(const Dims &from, const Dims &to, int64_t index) {
  int64_t result = 0, step = 1;
  size_t lead = to.size() - from.size();
  for (size_t i = to.size() - 2; i-- > 0;) {
    int64_t position = index % to[i];
    index /= to[i];
    if (i < lead)
      continue;
    int64_t extent = from[i - lead];
    result += (extent == 1 ? 0 : position) * step;
    step *= extent;
  }
  return result;
}

} // namespace

void reference::matMul(Operands inputs, Tensor &y, int threads) {
  const Dims &a = *inputs[0].dims, &b = *inputs[1].dims;
  int64_t rows = a[a.size() - 2], depth = a.back(), columns = b.back();
  int64_t runs = (columns + kRun - 1) / kRun;
  int64_t matrices = int64_t(y.data.size()) / (rows * columns);
  parallelFor(matrices * runs * rows, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = i % rows, run = i / rows % runs, matrix = i / rows / runs;
      int64_t first = run * kRun;
      matMulRun(inputs[0].data +
                    (matrixIndex(a, y.dims, matrix) * rows + row) * depth,
                inputs[1].data +
                    matrixIndex(b, y.dims, matrix) * depth * columns + first,
                depth, columns, std::min(kRun, columns - first),
                y.data.data() + (matrix * rows + row) * columns + first);
    }
  });
}
