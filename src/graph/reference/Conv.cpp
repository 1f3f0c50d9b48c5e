// A strided, padded, dilated convolution becomes sums of shifted rows:
// the padded input plane is cut into stride x stride phases, so that the input
// of tap (kh, kw) for all outputs of a plane is one contiguous run in the phase
// plane (kh*dilation % stride, kw*dilation % stride). The run also covers the
// columns between the rows, which are computed and dropped.

#include "graph/reference/Kernels.h"

#include <algorithm>

using namespace tlm;

namespace {

struct Geometry {
  int64_t batch, channels, height, width; // x
  int64_t filters, outHeight, outWidth;   // y
  int64_t groups;
  Window h, w;
  int64_t phaseHeight, phaseWidth; // of one phase plane
  int64_t phasePlane() const { return phaseHeight * phaseWidth; }
  int64_t phasesOfChannel() const { return h.stride * w.stride * phasePlane(); }
};

Geometry geometryOf(const Dims &x, const Dims &y,
                    const ConvAttributes &attributes) {
  bool flat = x.size() == 3;
  Geometry g;
  g.batch = x[0];
  g.channels = x[1];
  g.height = flat ? 1 : x[2];
  g.width = x.back();
  g.filters = y[1];
  g.outHeight = flat ? 1 : y[2];
  g.outWidth = y.back();
  g.groups = attributes.groups;
  g.h = flat ? Window{} : attributes.windows[0];
  g.w = attributes.windows.back();
  // Last output of the plane reads at most this far into its phase.
  g.phaseHeight = g.outHeight + (g.h.kernel - 1) * g.h.dilation / g.h.stride;
  g.phaseWidth = g.outWidth + (g.w.kernel - 1) * g.w.dilation / g.w.stride;
  return g;
}

/// One channel of x into its phase planes; what lies outside x is 0.
void splitPhases(const Geometry &g, const float *x, float *phases) {
  std::fill_n(phases, g.phasesOfChannel(), 0.0f);
  for (int64_t ph = 0; ph < g.h.stride; ++ph)
    for (int64_t pw = 0; pw < g.w.stride; ++pw, phases += g.phasePlane())
      for (int64_t i = 0; i < g.phaseHeight; ++i) {
        int64_t row = i * g.h.stride + ph - g.h.padBegin;
        if (row < 0 || row >= g.height)
          continue;
        const float *source = x + row * g.width;
        float *target = phases + i * g.phaseWidth;
        for (int64_t j = 0; j < g.phaseWidth; ++j) {
          int64_t column = j * g.w.stride + pw - g.w.padBegin;
          if (column >= 0 && column < g.width)
            target[j] = source[column];
        }
      }
}

constexpr int64_t kFilters = 4; // computed together: x is read once for them
constexpr int64_t kRun = 1024;  // floats of a run: sums stay in L1
constexpr int64_t kTerms = 128; // added in float before they go to double

template <int64_t F>
void addTap(float (*sums)[kRun], const float *x, const float *weights,
            int64_t filterStride, int64_t length) {
  float w[F];
  for (int64_t f = 0; f < F; ++f)
    w[f] = weights[f * filterStride];
  for (int64_t j = 0; j < length; ++j) {
    float value = x[j];
    for (int64_t f = 0; f < F; ++f)
      sums[f][j] += w[f] * value;
  }
}

/// F filters of one group on the outputs [begin, begin + length) of the plane,
/// counted with phaseWidth columns a row.
template <int64_t F>
void convRun(const Geometry &g, const float *phases, const float *weights,
             const float *bias, int64_t begin, int64_t length, float *y) {
  float sums[F][kRun] = {};
  double totals[F][kRun];
  for (int64_t f = 0; f < F; ++f)
    std::fill_n(totals[f], length, bias ? double(bias[f]) : 0.0);
  auto flush = [&] {
    for (int64_t f = 0; f < F; ++f)
      for (int64_t j = 0; j < length; ++j) {
        totals[f][j] += double(sums[f][j]);
        sums[f][j] = 0;
      }
  };

  int64_t depth = g.channels / g.groups;
  int64_t taps = g.h.kernel * g.w.kernel, terms = 0;
  for (int64_t c = 0; c < depth; ++c)
    for (int64_t kh = 0; kh < g.h.kernel; ++kh)
      for (int64_t kw = 0; kw < g.w.kernel; ++kw) {
        int64_t dh = kh * g.h.dilation, dw = kw * g.w.dilation;
        int64_t phase = dh % g.h.stride * g.w.stride + dw % g.w.stride;
        const float *x = phases + c * g.phasesOfChannel() +
                         phase * g.phasePlane() +
                         dh / g.h.stride * g.phaseWidth + dw / g.w.stride;
        addTap<F>(sums, x + begin, weights + c * taps + kh * g.w.kernel + kw,
                  depth * taps, length);
        if (++terms % kTerms == 0)
          flush();
      }
  flush();

  for (int64_t f = 0; f < F; ++f)
    for (int64_t j = 0; j < length; ++j) {
      int64_t row = (begin + j) / g.phaseWidth;
      int64_t column = (begin + j) % g.phaseWidth;
      if (column < g.outWidth)
        y[(f * g.outHeight + row) * g.outWidth + column] = float(totals[f][j]);
    }
}

} // namespace

void reference::conv(Operands inputs, const ConvAttributes &attributes,
                     Tensor &y, int threads) {
  const Geometry g = geometryOf(*inputs[0].dims, y.dims, attributes);
  const float *weights = inputs[1].data;
  const float *bias = inputs.size() > 2 ? inputs[2].data : nullptr;
  int64_t depth = g.channels / g.groups, perGroup = g.filters / g.groups;
  int64_t filterSize = depth * g.h.kernel * g.w.kernel;
  int64_t outPlane = g.outHeight * g.outWidth;
  int64_t runs = (g.outHeight - 1) * g.phaseWidth + g.outWidth;
  int64_t blocksOfGroup = (perGroup + kFilters - 1) / kFilters;
  std::vector<float> phases(size_t(g.channels * g.phasesOfChannel()));

  for (int64_t n = 0; n < g.batch; ++n) {
    const float *x = inputs[0].data + n * g.channels * g.height * g.width;
    float *out = y.data.data() + n * g.filters * outPlane;
    parallelFor(g.channels, threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        splitPhases(g, x + c * g.height * g.width,
                    phases.data() + c * g.phasesOfChannel());
    });
    parallelFor(g.groups * blocksOfGroup, threads, [&](int64_t b, int64_t e) {
      for (int64_t begin = 0; begin < runs; begin += kRun)
        for (int64_t block = b; block < e; ++block) {
          int64_t group = block / blocksOfGroup;
          int64_t first = block % blocksOfGroup * kFilters;
          int64_t length = std::min(kRun, runs - begin);
          const float *source =
              phases.data() + group * depth * g.phasesOfChannel();
          auto run = [&]<int64_t F>(int64_t f) {
            convRun<F>(g, source, weights + f * filterSize,
                       bias ? bias + f : nullptr, begin, length,
                       out + f * outPlane);
          };
          int64_t filter = group * perGroup + first;
          int64_t last =
              group * perGroup + std::min(first + kFilters, perGroup);
          if (last - filter == kFilters)
            run.template operator()<kFilters>(filter);
          else
            for (; filter < last; ++filter)
              run.template operator()<1>(filter);
        }
    });
  }
}
