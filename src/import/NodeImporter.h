//===- NodeImporter.h - one ONNX node on its way into a Graph ---*- C++ -*-===//
//
// What an import function sees. Inputs are checked for number and presence
// before it runs. Attribute getters return the default when the attribute is
// absent; one of the wrong kind is remembered and fails the node afterwards, so
// functions need not check each. Every emitted value has a name derived from
// the node's first output ("y#1") until bind gives it its ONNX name.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_NODEIMPORTER_H
#define TLM_IMPORT_NODEIMPORTER_H

#include "graph/GraphBuilder.h"
#include "import/OnnxModel.h"

#include <optional>
#include <string_view>

namespace tlm {

class NodeImporter {
public:
  NodeImporter(Graph &graph, const OnnxNode &node, int64_t opset,
               std::vector<ValueId> inputs)
      : graph(graph), builder(graph), node(node), version(opset),
        inputIds(std::move(inputs)), outputIds(node.outputs.size(), kNoValue),
        firstNew(graph.values.size()) {}

  int64_t opset() const { return version; }
  const std::string &opType() const { return node.opType; }

  //===--- operands -------------------------------------------------------===//

  size_t inputCount() const { return inputIds.size(); }
  bool hasInput(size_t i) const {
    return i < inputIds.size() && inputIds[i] != kNoValue;
  }
  ValueId input(size_t i) const { return inputIds[i]; }
  const std::vector<ValueId> &inputs() const { return inputIds; }
  const Value &value(ValueId id) const { return graph.value(id); }
  const Dims &dims(ValueId id) const { return graph.value(id).dims; }
  int64_t rank(ValueId id) const { return int64_t(dims(id).size()); }
  /// Whether every present input is constant.
  bool allConstant() const;

  /// A constant integer input as a list; an error when it is computed.
  Result<std::vector<int64_t>> constantInts(size_t i) const;
  /// A constant f32 input of one element.
  Result<float> constantScalar(size_t i) const;

  //===--- attributes -----------------------------------------------------===//

  bool hasAttribute(std::string_view name) const;
  int64_t intAttribute(std::string_view name, int64_t absent);
  float floatAttribute(std::string_view name, float absent);
  std::string stringAttribute(std::string_view name, std::string absent);
  std::vector<int64_t> intsAttribute(std::string_view name,
                                     std::vector<int64_t> absent);
  std::vector<float> floatsAttribute(std::string_view name);
  const OnnxTensor *tensorAttribute(std::string_view name);
  /// What a getter found wrong.
  Status attributeStatus() const;

  /// `axis` normalised to [0, rank); an error when it is outside.
  Result<int64_t> normaliseAxis(int64_t axis, int64_t rank) const;
  /// Several, distinct.
  Result<std::vector<int64_t>> normaliseAxes(std::vector<int64_t> axes,
                                             int64_t rank) const;

  //===--- results --------------------------------------------------------===//

  Result<ValueId> emit(Op op, std::vector<ValueId> inputs,
                       OpAttributes attributes = {});
  Result<ValueId> reshape(ValueId input, Dims dims);
  ValueId constant(Dims dims, std::vector<float> data);
  ValueId constant(DType dtype, Dims dims, Constant data);

  size_t outputCount() const { return outputIds.size(); }
  ValueId output(size_t i) const { return outputIds[i]; }
  /// Makes `id` the node's output; a value this node made gets its ONNX name.
  Status bind(ValueId id, size_t output = 0);
  /// The same for what emit returned.
  Status bind(const Result<ValueId> &id);

  /// The node is valid ONNX that TLM does not compile: goes into the table of
  /// unsupported operators.
  Error unsupported(std::string reason);
  bool isUnsupported() const { return refused; }

private:
  const OnnxAttribute *find(std::string_view name, OnnxAttribute::Kind kind);
  std::string nextName() const;

  Graph &graph;
  GraphBuilder builder;
  const OnnxNode &node;
  int64_t version;
  std::vector<ValueId> inputIds, outputIds;
  size_t firstNew; ///< values from here on are this node's
  std::string wrongAttribute;
  bool refused = false;
};

} // namespace tlm

#endif // TLM_IMPORT_NODEIMPORTER_H
