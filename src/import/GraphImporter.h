//===- GraphImporter.h - one model on its way into a Graph ------*- C++ -*-===//

#ifndef TLM_IMPORT_GRAPHIMPORTER_H
#define TLM_IMPORT_GRAPHIMPORTER_H

#include "graph/GraphBuilder.h"
#include "import/Import.h"
#include "import/Operators.h"

#include <unordered_map>

namespace tlm {

/// Walks the nodes in order. A node that TLM cannot compile does not stop the
/// walk: what depends on it is skipped, so one error lists all such operators.
///
/// Graphs inside nodes are put in place: their names live in a scope of their
/// own while their nodes are added.
class GraphImporter : private SubgraphImporter {
public:
  GraphImporter(const OnnxModel &model, const ImportOptions &options)
      : model(model), options(options), builder(result.graph),
        unsupported(model) {}

  Result<ImportedModel> run();

private:
  Status checkVersions();
  Status addInputs();
  Status addInitializers(const OnnxGraph &from);
  Status addNodes(const OnnxGraph &from);
  Status addNode(const OnnxNode &node);
  Result<std::vector<ValueId>>
  inlineGraph(const OnnxGraph &subgraph,
              const std::vector<ValueId> &inputs) override;
  /// The value of a name, from the innermost scope outwards; null: none.
  const ValueId *lookUp(const std::string &name) const;
  ValueId &define(const std::string &name) { return scopes.back()[name]; }
  /// The node's inputs, kNoValue for absent ones, checked for number.
  Result<std::vector<ValueId>> operandsOf(const OnnxNode &node,
                                          const OnnxOperator &op) const;
  std::string locate(const OnnxNode &node) const;
  Status addOutputs();
  void compareWithDeclared(const std::string &name, ValueId id);

  const OnnxModel &model;
  const ImportOptions &options;
  ImportedModel result;
  GraphBuilder builder;
  UnsupportedOps unsupported;
  /// By ONNX name; kNoValue for what an unsupported node would make.
  std::vector<std::unordered_map<std::string, ValueId>> scopes;
  int64_t inlinedNodes = 0;
  FoldBudget budget;
  std::unordered_map<std::string, const OnnxValueInfo *> declared;
  /// Optional outputs that no import function makes, by name.
  std::unordered_map<std::string, const OnnxNode *> unmade;
};

} // namespace tlm

#endif // TLM_IMPORT_GRAPHIMPORTER_H
