#include "graph/reference/Kernels.h"

#include <algorithm>

using namespace tlm;

namespace {

/// Elements between neighbours along each dim.
Dims stridesOf(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Advances `index` to the next position inside `dims`, row-major.
void next(Dims &index, const Dims &dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i])
      return;
    index[i] = 0;
  }
}

} // namespace

void reference::transpose(const TensorView &x, const AxesAttributes &attributes,
                          Tensor &y) {
  Dims strides = stridesOf(*x.dims), index(y.dims.size(), 0);
  for (float &value : y.data) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i)
      offset += index[i] * strides[size_t(attributes.axes[i])];
    value = x.data[offset];
    next(index, y.dims);
  }
}

void reference::concat(Operands inputs, const AxesAttributes &attributes,
                       Tensor &y) {
  size_t axis = size_t(attributes.axes[0]);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < y.dims.size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : y.dims[i];
  float *out = y.data.data();
  for (int64_t o = 0; o < outer; ++o)
    for (const TensorView &input : inputs) {
      int64_t chunk = (*input.dims)[axis] * inner;
      out = std::copy_n(input.data + o * chunk, chunk, out);
    }
}

void reference::pad(const TensorView &x, const PadAttributes &attributes,
                    Tensor &y) {
  Dims strides = stridesOf(*x.dims), index(y.dims.size(), 0);
  for (float &value : y.data) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t position = index[i] - attributes.begin[i];
      inside = inside && position >= 0 && position < (*x.dims)[i];
      offset += position * strides[i];
    }
    value = inside ? x.data[offset] : attributes.value;
    next(index, y.dims);
  }
}
