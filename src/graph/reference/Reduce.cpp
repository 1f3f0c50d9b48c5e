#include "graph/reference/Kernels.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

void reference::reduceMean(const TensorView &x,
                           const AxesAttributes &attributes, Tensor &y) {
  const Dims &in = *x.dims;
  std::vector<double> sums(y.data.size(), 0.0);
  Dims steps(in.size(), 0), index(in.size(), 0);
  int64_t step = 1;
  for (size_t i = in.size(); i-- > 0;) {
    bool reduced = std::count(attributes.axes.begin(), attributes.axes.end(),
                              int64_t(i)) != 0;
    steps[i] = reduced ? 0 : step;
    step *= reduced ? 1 : in[i];
  }
  int64_t count = x.count();
  for (int64_t e = 0, target = 0; e < count; ++e) {
    sums[size_t(target)] += x.data[e];
    for (size_t i = in.size(); i-- > 0;) { // the next element's target
      target += steps[i];
      if (++index[i] < in[i])
        break;
      target -= steps[i] * in[i];
      index[i] = 0;
    }
  }
  double terms = double(count) / double(y.data.size());
  for (size_t i = 0; i < sums.size(); ++i)
    y.data[i] = float(sums[i] / terms);
}

void reference::softmax(const TensorView &x, const AxesAttributes &attributes,
                        Tensor &y) {
  size_t axis = size_t(attributes.axes[0]);
  int64_t extent = (*x.dims)[axis], inner = 1;
  for (size_t i = axis + 1; i < x.dims->size(); ++i)
    inner *= (*x.dims)[i];
  int64_t outer = x.count() / (extent * inner);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const float *in = x.data + o * extent * inner + i;
      float *out = y.data.data() + o * extent * inner + i;
      float largest = in[0];
      for (int64_t k = 1; k < extent; ++k)
        if (in[k * inner] > largest || std::isnan(in[k * inner]))
          largest = in[k * inner];
      double sum = 0;
      for (int64_t k = 0; k < extent; ++k) {
        double e = std::exp(double(in[k * inner]) - double(largest));
        sum += e;
        out[k * inner] = float(e);
      }
      for (int64_t k = 0; k < extent; ++k)
        out[k * inner] = float(double(out[k * inner]) / sum);
    }
}
