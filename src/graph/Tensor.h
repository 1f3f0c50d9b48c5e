//===- Tensor.h - a dense tensor with its data ------------------*- C++ -*-===//

#ifndef TLM_GRAPH_TENSOR_H
#define TLM_GRAPH_TENSOR_H

#include "graph/Graph.h"

#include <vector>

namespace tlm {

/// Row-major in ONNX order. Elements of f32, which most tensors have, are in
/// `data`; those of any other dtype are in `bytes`.
struct Tensor {
  Dims dims;
  std::vector<float> data;
  DType dtype = DType::F32;
  std::vector<std::byte> bytes = {};

  /// Room for the elements of a tensor of this type, all 0.
  static Tensor make(DType dtype, Dims dims);

  std::byte *raw();
  const std::byte *raw() const;
  size_t sizeBytes() const;
};

/// The same without ownership.
struct TensorView {
  const Dims *dims = nullptr;
  const float *data = nullptr; ///< the elements, whatever their dtype is
  DType dtype = DType::F32;

  TensorView() = default;
  TensorView(const Dims &dims, const float *data, DType dtype = DType::F32)
      : dims(&dims), data(data), dtype(dtype) {}
  TensorView(const Tensor &tensor)
      : dims(&tensor.dims), data(reinterpret_cast<const float *>(tensor.raw())),
        dtype(tensor.dtype) {}
  /// A constant.
  TensorView(const Value &value)
      : dims(&value.dims), data(value.constant.as<float>()),
        dtype(value.dtype) {}

  int64_t count() const { return countOf(*dims); }
  const std::byte *raw() const {
    return reinterpret_cast<const std::byte *>(data);
  }
};

} // namespace tlm

#endif // TLM_GRAPH_TENSOR_H
