//===- Operators.h - the table of ONNX operators ----------------*- C++ -*-===//

#ifndef TLM_IMPORT_OPERATORS_H
#define TLM_IMPORT_OPERATORS_H

#include "import/ModelSummary.h"
#include "import/NodeImporter.h"

#include <span>
#include <string_view>

namespace tlm {

/// Adds one ONNX node to the graph and binds its outputs.
using ImportFunction = Status (*)(NodeImporter &);

struct OnnxOperator {
  std::string_view opType;
  int since; ///< first opset with it, 7 when older
  int minInputs;
  int maxInputs; ///< -1: any number
  ImportFunction import;
  std::string_view limits; ///< the forms that are taken; empty: all
};

/// All of Operators.def, in its order.
std::span<const OnnxOperator> onnxOperators();

/// Null for an operator import/ does not know.
const OnnxOperator *findOperator(std::string_view domain,
                                 std::string_view opType);

/// Collects nodes by operator and reason.
class UnsupportedOps {
public:
  explicit UnsupportedOps(const OnnxModel &model) : model(model) {}

  void add(const OnnxNode &node, std::string reason);
  const std::vector<UnsupportedOp> &list() const { return ops; }

private:
  const OnnxModel &model;
  std::vector<UnsupportedOp> ops;
};

} // namespace tlm

#endif // TLM_IMPORT_OPERATORS_H
