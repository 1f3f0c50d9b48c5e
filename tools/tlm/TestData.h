//===- TestData.h - ONNX's test_data_set folders ----------------*- C++ -*-===//
//
//   test_data_set_0/input_0.pb   test_data_set_0/output_0.pb   ...
//
// The files are serialized TensorProtos. One whose name is in the signature is
// that tensor; otherwise the number in the file's name is its position.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_TESTDATA_H
#define TLM_TOOLS_TESTDATA_H

#include "InputSpec.h"

namespace tlm {

struct TestData {
  std::string path; ///< of the folder
  /// In the order of the signature, checked against it.
  std::vector<HostTensor> inputs;
  /// At least one, named as in the signature.
  std::vector<HostTensor> outputs;
};

/// The data sets of `folder`: itself when it holds input_*.pb or output_*.pb,
/// else its test_data_set_* in the order of their numbers.
Result<std::vector<TestData>>
readTestData(const std::string &folder,
             const std::vector<TensorSpec> &inputSignature,
             const std::vector<TensorSpec> &outputSignature);

} // namespace tlm

#endif // TLM_TOOLS_TESTDATA_H
