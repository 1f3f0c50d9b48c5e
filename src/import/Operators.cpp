#include "import/Operators.h"

#include "import/ops/Families.h"

#include <algorithm>

using namespace tlm;

std::span<const OnnxOperator> tlm::onnxOperators() {
  static const OnnxOperator table[] = {
#define TLM_ONNX_OP(opType, since, minInputs, maxInputs, function, limits)     \
  {#opType, since, minInputs, maxInputs, function, limits},
#include "import/Operators.def"
  };
  return table;
}

const OnnxOperator *tlm::findOperator(std::string_view domain,
                                      std::string_view opType) {
  if (!domain.empty())
    return nullptr;
  for (const OnnxOperator &op : onnxOperators())
    if (op.opType == opType)
      return &op;
  return nullptr;
}

void UnsupportedOps::add(const OnnxNode &node, std::string reason) {
  std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  for (UnsupportedOp &op : ops)
    if (op.op == node.opType && op.domain == domain && op.reason == reason) {
      ++op.count;
      return;
    }
  int64_t version = 0;
  for (const OnnxOpset &opset : model.opsets)
    if (opset.domain == node.domain)
      version = opset.version;
  std::string name = node.name;
  if (name.empty())
    name = node.outputs.empty() ? "?" : node.outputs[0];
  ops.push_back(
      {node.opType, domain, version, 1, "'" + name + "'", std::move(reason)});
}
