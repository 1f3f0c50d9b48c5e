//===- HostTensor.h - a tensor on the user's side ---------------*- C++ -*-===//

#ifndef TLM_TOOLS_HOSTTENSOR_H
#define TLM_TOOLS_HOSTTENSOR_H

#include "base/DType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tlm {

/// Dense, row-major, in ONNX order; data.size() == count() * sizeOf(dtype).
struct HostTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<char> data;

  HostTensor() = default;
  /// Zeros.
  HostTensor(std::string name, DType dtype, std::vector<int64_t> dims);

  int64_t count() const;
  /// "f32[1,3,224,224]".
  std::string typeText() const;
  /// Element `index` as a double (bool as 0 and 1).
  double at(int64_t index) const;
};

/// Product of dims, or nothing when one is negative or the bytes of such a
/// tensor would not fit in 2^62.
std::optional<int64_t> checkedCount(const std::vector<int64_t> &dims);

/// "f32" -> F32; Invalid when unknown.
DType dtypeFromName(std::string_view name);

/// Deterministic values from `seed`: floats uniform in [-1, 1), integers in
/// [0, 100), booleans.
void fillRandom(HostTensor &tensor, uint64_t seed);

void fillOnes(HostTensor &tensor);

} // namespace tlm

#endif // TLM_TOOLS_HOSTTENSOR_H
