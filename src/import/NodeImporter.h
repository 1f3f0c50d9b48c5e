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

/// Puts the nodes of a graph inside an attribute into the Graph.
class SubgraphImporter {
public:
  /// Inputs and results in the order of the subgraph's own; kNoValue for a
  /// result that an unsupported node would make.
  virtual Result<std::vector<ValueId>>
  inlineGraph(const OnnxGraph &subgraph,
              const std::vector<ValueId> &inputs) = 0;

protected:
  ~SubgraphImporter() = default;
};

class NodeImporter {
public:
  NodeImporter(Graph &graph, const OnnxNode &node, int64_t opset,
               std::vector<ValueId> inputs, SubgraphImporter &subgraphs,
               FoldBudget &budget)
      : graph(graph), builder(graph, &budget), node(node), subgraphs(subgraphs),
        version(opset), inputIds(std::move(inputs)),
        outputIds(node.outputs.size(), kNoValue),
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
  DType dtype(ValueId id) const { return graph.value(id).dtype; }
  int64_t rank(ValueId id) const { return int64_t(dims(id).size()); }
  /// Whether every present input is constant.
  bool allConstant() const;

  /// Pays for `elements` numbers that import reads of constants, or computes
  /// from them, and for `keptBytes` of a new constant. An error when there are
  /// more than a list may have, or more than the model's constants may take.
  Status spend(int64_t elements, int64_t keptBytes = 0) const;

  /// A constant of integers as a list, paid for.
  Result<std::vector<int64_t>> listOf(const Value &operand) const;
  /// A constant integer input as a list; an error when it is computed.
  Result<std::vector<int64_t>> constantInts(size_t i) const;
  /// A constant input of one element, of any type.
  Result<double> constantNumber(size_t i) const;
  /// A constant f32 or f64 input as a list.
  Result<std::vector<double>> constantReals(size_t i) const;

  //===--- attributes -----------------------------------------------------===//

  bool hasAttribute(std::string_view name) const;
  int64_t intAttribute(std::string_view name, int64_t absent);
  float floatAttribute(std::string_view name, float absent);
  std::string stringAttribute(std::string_view name, std::string absent);
  std::vector<int64_t> intsAttribute(std::string_view name,
                                     std::vector<int64_t> absent);
  std::vector<float> floatsAttribute(std::string_view name);
  std::vector<std::string> stringsAttribute(std::string_view name);
  const OnnxTensor *tensorAttribute(std::string_view name);
  const OnnxGraph *graphAttribute(std::string_view name);
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
  Result<std::vector<ValueId>> inlineGraph(const OnnxGraph &subgraph,
                                           const std::vector<ValueId> &inputs) {
    return subgraphs.inlineGraph(subgraph, inputs);
  }
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
  /// Whether output i has a name, so that somebody may read it.
  bool wantsOutput(size_t i) const {
    return i < node.outputs.size() && !node.outputs[i].empty();
  }

private:
  const OnnxAttribute *find(std::string_view name, OnnxAttribute::Kind kind);
  std::string firstOutput() const;
  std::string nextName() const;

  Graph &graph;
  GraphBuilder builder;
  const OnnxNode &node;
  SubgraphImporter &subgraphs;
  int64_t version;
  std::vector<ValueId> inputIds, outputIds;
  size_t firstNew; ///< values from here on are this node's
  std::string wrongAttribute;
  bool refused = false;
};

} // namespace tlm

#endif // TLM_IMPORT_NODEIMPORTER_H
