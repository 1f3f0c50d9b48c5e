#include "graph/Tensor.h"

using namespace tlm;

Tensor Tensor::make(DType dtype, Dims dims) {
  Tensor tensor{std::move(dims), {}, dtype};
  size_t count = size_t(countOf(tensor.dims));
  if (dtype == DType::F32)
    tensor.data.resize(count);
  else
    tensor.bytes.resize(count * sizeOf(dtype));
  return tensor;
}

std::byte *Tensor::raw() {
  return dtype == DType::F32 ? reinterpret_cast<std::byte *>(data.data())
                             : bytes.data();
}

const std::byte *Tensor::raw() const {
  return dtype == DType::F32 ? reinterpret_cast<const std::byte *>(data.data())
                             : bytes.data();
}

size_t Tensor::sizeBytes() const {
  return dtype == DType::F32 ? data.size() * sizeof(float) : bytes.size();
}
