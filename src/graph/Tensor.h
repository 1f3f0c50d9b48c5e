//===- Tensor.h - a dense f32 tensor with its data --------------*- C++ -*-===//

#ifndef TLM_GRAPH_TENSOR_H
#define TLM_GRAPH_TENSOR_H

#include "graph/Graph.h"

#include <vector>

namespace tlm {

/// Row-major in ONNX order; data.size() == countOf(dims).
struct Tensor {
  Dims dims;
  std::vector<float> data;
};

/// The same without ownership.
struct TensorView {
  const Dims *dims = nullptr;
  const float *data = nullptr;

  TensorView() = default;
  TensorView(const Dims &dims, const float *data) : dims(&dims), data(data) {}
  TensorView(const Tensor &tensor)
      : dims(&tensor.dims), data(tensor.data.data()) {}
  int64_t count() const { return countOf(*dims); }
};

} // namespace tlm

#endif // TLM_GRAPH_TENSOR_H
