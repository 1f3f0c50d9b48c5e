//===- ModelSummary.h - what a model file is --------------------*- C++ -*-===//
//
// The first line `tlm compile` prints, and most of `tlm inspect`. Needs no
// successful import: it describes the file.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_MODELSUMMARY_H
#define TLM_IMPORT_MODELSUMMARY_H

#include "import/OnnxModel.h"

#include <map>

namespace tlm {

/// Operators of one kind that TLM cannot compile.
struct UnsupportedOp {
  std::string op;
  std::string domain; ///< "ai.onnx" for ONNX's own
  int64_t opset = 0;  ///< of the domain, as the model imports it
  int64_t count = 0;
  std::string firstNode;
  std::string reason; ///< empty: the operator as such
};

struct ModelSummary {
  int64_t irVersion = 0;
  std::string producer;
  std::vector<OnnxOpset> opsets;
  int64_t nodeCount = 0;
  int64_t weightCount = 0; ///< elements of all initializers
  int64_t weightBytes = 0;
  std::vector<OnnxValueInfo> inputs; ///< without those that are initializers
  std::vector<OnnxValueInfo> outputs;
  std::map<std::string, int64_t> opCounts; ///< "Conv", "com.microsoft.Gelu"
  /// Operators that are not in our table at all. Those that are, but not in
  /// the form the model uses, show in the error of the import.
  std::vector<UnsupportedOp> unsupported;

  /// "ONNX IR 8, opset 17, 122 nodes, 25.6 M weights (97.5 MiB), input x
  /// f32[1,3,224,224], output y f32[1,1000]".
  std::string text() const;
};

ModelSummary summarise(const OnnxModel &model);

/// Reads and describes a file.
Result<ModelSummary> summariseOnnx(const std::string &path);

/// The operators as an aligned table, one a line, with a head.
std::string tableOf(const std::vector<UnsupportedOp> &ops);

} // namespace tlm

#endif // TLM_IMPORT_MODELSUMMARY_H
