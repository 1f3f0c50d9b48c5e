#include "graph/reference/Kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tlm;

namespace {

/// Calls body(plane of x, output element, window origin row, column) for every
/// output; x and y seen as [planes, H, W].
template <typename Body>
void forEachWindow(const TensorView &x, const PoolAttributes &attributes,
                   Tensor &y, int threads, Body body) {
  const Dims &in = *x.dims;
  bool flat = in.size() == 3;
  Window h = flat ? Window{} : attributes.windows[0];
  Window w = attributes.windows.back();
  int64_t inPlane = (flat ? 1 : in[2]) * in.back();
  int64_t outHeight = flat ? 1 : y.dims[2], outWidth = y.dims.back();
  reference::parallelFor(in[0] * in[1], threads, [&](int64_t b, int64_t e) {
    for (int64_t plane = b; plane < e; ++plane)
      for (int64_t oh = 0; oh < outHeight; ++oh)
        for (int64_t ow = 0; ow < outWidth; ++ow)
          y.data[size_t((plane * outHeight + oh) * outWidth + ow)] =
              body(x.data + plane * inPlane, oh * h.stride - h.padBegin,
                   ow * w.stride - w.padBegin);
  });
}

/// The taps of a window that lie in [0, extent): [first, last).
struct Taps {
  int64_t first, last;
};
Taps tapsInside(const Window &w, int64_t start, int64_t extent) {
  auto atLeast = [&](int64_t position) { // first tap at or behind position
    int64_t distance = position - start;
    return distance <= 0 ? 0 : (distance + w.dilation - 1) / w.dilation;
  };
  return {std::min(w.kernel, atLeast(0)), std::min(w.kernel, atLeast(extent))};
}

} // namespace

void reference::maxPool(const TensorView &x, const PoolAttributes &attributes,
                        Tensor &y, int threads) {
  bool flat = x.dims->size() == 3;
  int64_t height = flat ? 1 : (*x.dims)[2], width = x.dims->back();
  Window h = flat ? Window{} : attributes.windows[0];
  Window w = attributes.windows.back();
  auto largest = [&](const float *plane, int64_t row, int64_t column) {
    float result = -std::numeric_limits<float>::infinity();
    Taps rows = tapsInside(h, row, height);
    Taps columns = tapsInside(w, column, width);
    for (int64_t i = rows.first; i < rows.last; ++i)
      for (int64_t j = columns.first; j < columns.last; ++j) {
        float value =
            plane[(row + i * h.dilation) * width + column + j * w.dilation];
        if (value > result || std::isnan(value))
          result = value; // once NaN, no comparison replaces it but a NaN
      }
    return result;
  };
  forEachWindow(x, attributes, y, threads, largest);
}

void reference::averagePool(const TensorView &x,
                            const PoolAttributes &attributes, Tensor &y,
                            int threads) {
  bool flat = x.dims->size() == 3;
  int64_t height = flat ? 1 : (*x.dims)[2], width = x.dims->back();
  Window h = flat ? Window{} : attributes.windows[0];
  Window w = attributes.windows.back();
  auto ceilPad = [&](size_t i) {
    return i < attributes.ceilPad.size() ? attributes.ceilPad[i] : 0;
  };
  int64_t overhangH = flat ? 0 : ceilPad(0);
  int64_t overhangW = ceilPad(attributes.windows.size() - 1);

  auto mean = [&](const float *plane, int64_t row, int64_t column) {
    Taps rows = tapsInside(h, row, height);
    Taps columns = tapsInside(w, column, width);
    double sum = 0;
    for (int64_t i = rows.first; i < rows.last; ++i)
      for (int64_t j = columns.first; j < columns.last; ++j)
        sum += plane[(row + i * h.dilation) * width + column + j * w.dilation];
    int64_t divisor = (rows.last - rows.first) * (columns.last - columns.first);
    if (attributes.countIncludePad) {
      // Padding before counts wholly, padding behind up to the overhang.
      divisor = tapsInside(h, row, height + h.padEnd - overhangH).last *
                tapsInside(w, column, width + w.padEnd - overhangW).last;
    }
    return float(sum / double(divisor));
  };
  forEachWindow(x, attributes, y, threads, mean);
}
