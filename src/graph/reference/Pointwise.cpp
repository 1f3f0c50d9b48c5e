#include "graph/reference/Kernels.h"

#include "base/Pointwise.h"

#include <array>

using namespace tlm;

namespace {

/// Elements between neighbours of an operand along each dim of the output; 0
/// where it broadcasts.
Dims broadcastStrides(const Dims &from, const Dims &to) {
  Dims strides(to.size(), 0);
  int64_t step = 1;
  for (size_t i = from.size(), o = to.size(); i-- > 0;) {
    strides[--o] = from[i] == 1 ? 0 : step;
    step *= from[i];
  }
  return strides;
}

/// Row `row` of the output (all dims but the last) in an operand.
int64_t rowOffset(const Dims &dims, const Dims &strides, int64_t row) {
  int64_t offset = 0;
  for (size_t i = dims.size() - 1; i-- > 0;) {
    offset += row % dims[i] * strides[i];
    row /= dims[i];
  }
  return offset;
}

void binary(Op op, const TensorView &a, const TensorView &b, Tensor &y,
            int threads) {
  Dims dims = y.dims.empty() ? Dims{1} : y.dims;
  Dims stepA = broadcastStrides(*a.dims, dims);
  Dims stepB = broadcastStrides(*b.dims, dims);
  int64_t length = dims.back(), rows = int64_t(y.data.size()) / length;
  reference::parallelFor(rows, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float *left = a.data + rowOffset(dims, stepA, row);
      const float *right = b.data + rowOffset(dims, stepB, row);
      float *out = y.data.data() + row * length;
      for (int64_t j = 0; j < length; ++j)
        out[j] = applyPointwise(
            op, std::array{left[j * stepA.back()], right[j * stepB.back()]});
    }
  });
}

} // namespace

void reference::pointwise(Op op, Operands inputs,
                          const ScalarAttributes &attributes, Tensor &y,
                          int threads) {
  if (inputs.size() == 2)
    return binary(op, inputs[0], inputs[1], y, threads);
  parallelFor(int64_t(y.data.size()), threads, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i)
      y.data[size_t(i)] =
          applyPointwise(op, std::span(inputs[0].data + i, 1), attributes);
  });
}
