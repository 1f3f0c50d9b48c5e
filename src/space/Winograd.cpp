//===- Winograd.cpp -------------------------------------------------------===//

#include "space/Winograd.h"

namespace tlm {

/// out = G (a, b, c)^T; out's elements are `step` apart.
static inline void applyG(double a, double b, double c, double *out,
                          int64_t step) {
  double even = (a + c) * (-1.0 / 6), odd = b * (-1.0 / 6);
  double high = a * (1.0 / 24) + c * (1.0 / 6), low = b * (1.0 / 12);
  out[0 * step] = a * 0.25;
  out[1 * step] = even + odd;
  out[2 * step] = even - odd;
  out[3 * step] = high + low;
  out[4 * step] = high - low;
  out[5 * step] = c;
}

void transformWinogradFilters(const float *filters, int64_t count,
                              float *transformed) {
  for (int64_t i = 0; i < count; ++i) {
    const float *w = filters + i * 9;
    float *u = transformed + i * 36;
    double columns[6][3]; // G w
    for (int64_t j = 0; j < 3; ++j)
      applyG(w[j], w[3 + j], w[6 + j], &columns[0][j], 3);
    for (int64_t k = 0; k < 6; ++k) {
      double row[6];
      applyG(columns[k][0], columns[k][1], columns[k][2], row, 1);
      for (int64_t j = 0; j < 6; ++j)
        u[k * 6 + j] = float(row[j]);
    }
  }
}

} // namespace tlm
