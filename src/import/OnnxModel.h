//===- OnnxModel.h - an ONNX file without protobuf --------------*- C++ -*-===//
//
// What readOnnx makes of a model file: plain structs, checked on their own
// (sizes, types, external data), not yet against each other. Only OnnxReader
// sees protobuf; everything behind it sees this.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_ONNXMODEL_H
#define TLM_IMPORT_ONNXMODEL_H

#include "base/Result.h"
#include "graph/Graph.h"

#include <optional>

namespace tlm {

struct OnnxTensor {
  std::string name;
  DType dtype = DType::Invalid; ///< Invalid: a type we do not know
  int32_t onnxType = 0;         ///< TensorProto.DataType
  Dims dims;
  /// Points into the model file's message or an external file. Null when the
  /// type is unknown.
  Constant constant;
};

struct OnnxGraph;

struct OnnxAttribute {
  enum class Kind {
    Float,
    Int,
    String,
    Tensor,
    Floats,
    Ints,
    Strings,
    Graph,
    Other
  };

  std::string name;
  Kind kind = Kind::Other;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::optional<OnnxTensor> tensor;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<const OnnxGraph> graph;
};

struct OnnxNode {
  std::string name, opType, domain; ///< domain "" is ONNX's own
  std::vector<std::string> inputs;  ///< "": an absent optional one
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;

  /// "'conv1' (Conv)"; the first output stands in for a missing name.
  std::string label() const;
};

/// A dim is a number, or a symbol, or neither (`value` < 0, `symbol` empty).
struct OnnxDim {
  int64_t value = -1;
  std::string symbol;
};

struct OnnxValueInfo {
  std::string name;
  bool isTensor = true;
  int32_t onnxType = 0;
  DType dtype = DType::Invalid;
  bool isRanked = false;
  std::vector<OnnxDim> dims;
};

struct OnnxOpset {
  std::string domain;
  int64_t version = 0;
};

/// The model's own graph, or one in an attribute.
struct OnnxGraph {
  std::string graphName;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
};

struct OnnxModel : OnnxGraph {
  int64_t irVersion = 0;
  std::string producer;
  std::vector<OnnxOpset> opsets;

  /// Version of ONNX's own domain; 0 when the model imports none.
  int64_t opset() const;
};

/// "f32[N,3,?,224]" for a declared type; "f32[*]" without a rank.
std::string typeText(const OnnxValueInfo &info);

/// Reads a model file. Refuses what is no ONNX model, and tensors whose data
/// is missing, of another size than their dims say, or outside the folder.
Result<OnnxModel> readOnnx(const std::string &path);

/// The same from memory; external data is looked up in `folder`.
Result<OnnxModel> readOnnxBytes(const void *data, size_t sizeBytes,
                                const std::string &folder);

} // namespace tlm

#endif // TLM_IMPORT_ONNXMODEL_H
