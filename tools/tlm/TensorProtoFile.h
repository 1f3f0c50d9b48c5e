//===- TensorProtoFile.h - ONNX test data (.pb) -----------------*- C++ -*-===//

#ifndef TLM_TOOLS_TENSORPROTOFILE_H
#define TLM_TOOLS_TENSORPROTOFILE_H

#include "HostTensor.h"
#include "base/Result.h"

#include <string>
#include <string_view>

namespace tlm {

/// Reads a serialized TensorProto, as in ONNX's test_data_set folders.
Result<HostTensor> parseTensorProto(std::string_view bytes,
                                    const std::string &where);

} // namespace tlm

#endif // TLM_TOOLS_TENSORPROTOFILE_H
