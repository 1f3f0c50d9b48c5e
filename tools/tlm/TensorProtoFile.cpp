//===- TensorProtoFile.cpp - ONNX test data (.pb) -------------------------===//

#include "TensorProtoFile.h"

#include <algorithm>
#include <cstring>
#include <onnx/onnx_pb.h>

namespace tlm {
namespace {

/// Copies a repeated field, narrowing to T. False when the count is wrong.
template <typename T, typename Field>
bool copyField(const Field &field, HostTensor &tensor) {
  if (field.size() != tensor.count())
    return false;
  for (int i = 0; i < field.size(); ++i) {
    T value = T(field.Get(i));
    std::memcpy(tensor.data.data() + size_t(i) * sizeof(T), &value, sizeof(T));
  }
  return true;
}

bool copyTyped(const onnx::TensorProto &proto, HostTensor &tensor) {
  switch (tensor.dtype) {
  case DType::F32:
    return copyField<float>(proto.float_data(), tensor);
  case DType::F64:
    return copyField<double>(proto.double_data(), tensor);
  case DType::I64:
    return copyField<int64_t>(proto.int64_data(), tensor);
  case DType::I32:
    return copyField<int32_t>(proto.int32_data(), tensor);
  case DType::U32:
    return copyField<uint32_t>(proto.uint64_data(), tensor);
  case DType::U64:
    return copyField<uint64_t>(proto.uint64_data(), tensor);
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return copyField<uint16_t>(proto.int32_data(), tensor);
  case DType::I8:
  case DType::U8:
  case DType::Bool:
    return copyField<uint8_t>(proto.int32_data(), tensor);
  case DType::Invalid:
    break;
  }
  return false;
}

} // namespace

Result<HostTensor> parseTensorProto(std::string_view bytes,
                                    const std::string &where) {
  onnx::TensorProto proto;
  if (bytes.size() > size_t(INT32_MAX) ||
      !proto.ParseFromArray(bytes.data(), int(bytes.size())))
    return makeError(where + ": not an ONNX TensorProto");
  auto dtype = DType(proto.data_type());
  if (sizeOf(dtype) == 0)
    return makeError(where + ": tensor of ONNX type " +
                     std::to_string(proto.data_type()) + " is not supported");
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  std::optional<int64_t> count = checkedCount(dims);
  // Every element takes a byte of the file at least.
  if (!count || uint64_t(*count) > bytes.size())
    return makeError(where + ": dims do not agree with the size of the file");
  HostTensor tensor(proto.name(), dtype, dims);
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != tensor.data.size())
      return makeError(where + ": raw data has " +
                       std::to_string(proto.raw_data().size()) + " bytes, " +
                       tensor.typeText() + " has " +
                       std::to_string(tensor.data.size()));
    std::ranges::copy(proto.raw_data(), tensor.data.begin());
  } else if (!copyTyped(proto, tensor)) {
    return makeError(where + ": values do not agree with " + tensor.typeText());
  }
  return tensor;
}

} // namespace tlm
