//===- Winograd.cpp -------------------------------------------------------===//

#include "space/Winograd.h"

namespace tlm {

/// out = G (a, b, c)^T; out's elements are `step` apart.
template <int64_t Outputs>
static inline void applyG(double a, double b, double c, double *out,
                          int64_t step) {
  if constexpr (Outputs == 2) {
    out[0 * step] = a;
    out[1 * step] = (a + c + b) * 0.5;
    out[2 * step] = (a + c - b) * 0.5;
    out[3 * step] = c;
    return;
  }
  double even = (a + c) * (-1.0 / 6), odd = b * (-1.0 / 6);
  double high = a * (1.0 / 24) + c * (1.0 / 6), low = b * (1.0 / 12);
  out[0 * step] = a * 0.25;
  out[1 * step] = even + odd;
  out[2 * step] = even - odd;
  out[3 * step] = high + low;
  out[4 * step] = high - low;
  out[5 * step] = c;
}

template <int64_t Outputs>
static void transform(const float *filters, int64_t count, float *transformed) {
  constexpr int64_t points = Outputs + 2;
  for (int64_t i = 0; i < count; ++i) {
    const float *w = filters + i * 9;
    float *u = transformed + i * points * points;
    double columns[points][3]; // G w
    for (int64_t j = 0; j < 3; ++j)
      applyG<Outputs>(w[j], w[3 + j], w[6 + j], &columns[0][j], 3);
    for (int64_t k = 0; k < points; ++k) {
      double row[points];
      applyG<Outputs>(columns[k][0], columns[k][1], columns[k][2], row, 1);
      for (int64_t j = 0; j < points; ++j)
        u[k * points + j] = float(row[j]);
    }
  }
}

void transformWinogradFilters(const float *filters, int64_t count,
                              int64_t outputs, float *transformed) {
  outputs == 2 ? transform<2>(filters, count, transformed)
               : transform<4>(filters, count, transformed);
}

} // namespace tlm
