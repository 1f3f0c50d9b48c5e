//===- InputSpec.h - the text behind --input --------------------*- C++ -*-===//
//
//   x=@x.npy                     x=f32:1x3x224x224=@raw.bin
//   x=@many.npz                  x=random   x=zeros   x=ones
//   x=@x.pb                      0=...      (the first input)
//
// The name may be left out when the model has one input; @many.npz alone gives
// every input of the archive by name.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_INPUTSPEC_H
#define TLM_TOOLS_INPUTSPEC_H

#include "HostTensor.h"
#include "base/Result.h"

#include <string>
#include <vector>

namespace tlm {

/// One row of a model's signature.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims; ///< -1 = any

  std::string typeText() const;
};

/// Reads .npy, .npz or .pb (an ONNX TensorProto), by extension.
Result<std::vector<HostTensor>> readTensors(const std::string &path);

/// Tensors for the whole signature, in its order: from the specs, the rest
/// random from `seed`. Names, types and shapes are checked against it; the
/// names of the inputs that were filled go to `filled` when given.
Result<std::vector<HostTensor>>
makeInputs(const std::vector<TensorSpec> &signature,
           const std::vector<std::string> &specs, uint64_t seed,
           std::vector<std::string> *filled = nullptr);

/// Whether `tensor` may be the input `spec`; else an error with both types.
Status checkType(const TensorSpec &spec, const HostTensor &tensor);

/// "1x3x224x224" or "[1,3,224,224]"; "?" and "-1" are -1.
Result<std::vector<int64_t>> parseDims(const std::string &text);

/// The files of --expect: "@y.npz", "@y.npy" or "y=@y.npy"; tensors named after
/// the signature.
Result<std::vector<HostTensor>>
readExpected(const std::vector<TensorSpec> &signature,
             const std::vector<std::string> &specs);

} // namespace tlm

#endif // TLM_TOOLS_INPUTSPEC_H
