//===- Graph.h - the whole network ------------------------------*- C++ -*-===//
//
// The first of TLM's value types: what import/ hands to graph/, and graph/ to
// partition/. Values and nodes are indexed; nodes are in topological order;
// every shape is static and in ONNX order (NCHW) for ever: layouts and borders
// belong to the buffers of the Plan. Needs neither ONNX nor MLIR.
//
// The operator set is small and normalised: importing BatchNormalization,
// Gemm, Flatten, Squeeze, Identity, Dropout, Constant, GlobalAveragePool ...
// ends in the operators below, so every later stage knows these only.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_GRAPH_GRAPH_H
#define TLM_GRAPH_GRAPH_H

#include "base/DType.h"
#include "base/Op.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tlm {

using Dims = std::vector<int64_t>;

/// Product of the dims; 1 for rank 0. Never overflows for a Graph that passed
/// import (it refuses such dims).
int64_t countOf(const Dims &dims);

/// "f32[1,3,224,224]".
std::string typeText(DType type, const Dims &dims);

/// Bytes of a constant tensor in ONNX order, owned or mapped from a file.
struct Constant {
  const std::byte *data = nullptr;
  size_t sizeBytes = 0;
  std::shared_ptr<const void> keepAlive;

  template <typename T>
  const T *as() const {
    return reinterpret_cast<const T *>(data);
  }
};

using ValueId = int32_t;
/// An absent optional input.
inline constexpr ValueId kNoValue = -1;

struct Value {
  std::string name;
  DType dtype = DType::Invalid;
  Dims dims;
  /// data != nullptr for weights and folded constants.
  Constant constant;

  bool isConstant() const { return constant.data != nullptr; }
};

struct Node {
  Op op = Op::Add;
  /// The ONNX node it came from, for messages and profiles.
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  OpAttributes attributes;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  const Value &value(ValueId id) const { return values[size_t(id)]; }
  Value &value(ValueId id) { return values[size_t(id)]; }
};

/// Checks every invariant of a Graph: ids in range, one producer per value,
/// topological order, operand counts and shapes that agree with Op's shape
/// rule. Returns an empty string, or what is broken.
std::string verifyGraph(const Graph &graph);

} // namespace tlm

#endif // TLM_GRAPH_GRAPH_H
