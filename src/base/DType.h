//===- DType.h - element types ----------------------------------*- C++ -*-===//

#ifndef TLM_BASE_DTYPE_H
#define TLM_BASE_DTYPE_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tlm {

/// Element types. The values are ONNX's TensorProto.DataType, which the C ABI
/// and the manifest use too.
enum class DType : int32_t {
  Invalid = 0,
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  BF16 = 16,
};

/// Bytes of one element; 0 for Invalid.
size_t sizeOf(DType type);

/// "f32", "i64", "bool"; "?" for Invalid.
std::string_view nameOf(DType type);

bool isFloat(DType type);
/// Signed and unsigned integers; not bool.
bool isInteger(DType type);
bool isUnsigned(DType type);

} // namespace tlm

#endif // TLM_BASE_DTYPE_H
