#include "import/ModelSummary.h"

#include "import/Operators.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace tlm;

namespace {

std::string decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

std::string signature(const char *what,
                      const std::vector<OnnxValueInfo> &infos) {
  std::string text;
  for (const OnnxValueInfo &info : infos)
    text += ", " + std::string(what) + " " + info.name + " " + typeText(info);
  return text;
}

void pad(std::string &line, size_t width) {
  line.resize(std::max(line.size() + 2, width), ' ');
}

} // namespace

std::string ModelSummary::text() const {
  std::string text = "ONNX IR " + std::to_string(irVersion);
  for (const OnnxOpset &opset : opsets)
    text += opset.domain.empty()
                ? ", opset " + std::to_string(opset.version)
                : ", " + opset.domain + " " + std::to_string(opset.version);
  text += ", " + std::to_string(nodeCount) + " nodes, ";
  text += weightCount < 100000 ? std::to_string(weightCount)
                               : decimal(double(weightCount) / 1e6) + " M";
  text +=
      " weights (" + decimal(double(weightBytes) / double(1 << 20)) + " MiB)";
  return text + signature("input", inputs) + signature("output", outputs);
}

ModelSummary tlm::summarise(const OnnxModel &model) {
  ModelSummary summary;
  summary.irVersion = model.irVersion;
  summary.producer = model.producer;
  summary.opsets = model.opsets;
  summary.nodeCount = int64_t(model.nodes.size());
  summary.outputs = model.outputs;
  std::set<std::string> weights;
  for (const OnnxTensor &tensor : model.initializers) {
    weights.insert(tensor.name);
    summary.weightCount += countOf(tensor.dims);
    summary.weightBytes += int64_t(tensor.constant.sizeBytes);
  }
  for (const OnnxValueInfo &input : model.inputs)
    if (!weights.contains(input.name))
      summary.inputs.push_back(input);
  UnsupportedOps unsupported(model);
  for (const OnnxNode &node : model.nodes) {
    ++summary.opCounts[(node.domain.empty() ? "" : node.domain + ".") +
                       node.opType];
    if (!findOperator(node.domain, node.opType))
      unsupported.add(node, {});
  }
  summary.unsupported = unsupported.list();
  return summary;
}

Result<ModelSummary> tlm::summariseOnnx(const std::string &path) {
  TLM_TRY(OnnxModel model, readOnnx(path));
  return summarise(model);
}

std::string tlm::tableOf(const std::vector<UnsupportedOp> &ops) {
  std::vector<std::vector<std::string>> rows = {
      {"op", "domain", "opset", "count", "first node"}};
  for (const UnsupportedOp &op : ops)
    rows.push_back(
        {op.op, op.domain, std::to_string(op.opset), std::to_string(op.count),
         op.firstNode + (op.reason.empty() ? "" : ": " + op.reason)});
  std::vector<size_t> ends(rows[0].size(), 0);
  for (size_t column = 0; column + 1 < ends.size(); ++column) {
    size_t widest = 0;
    for (const auto &row : rows)
      widest = std::max(widest, row[column].size());
    ends[column] = (column ? ends[column - 1] : 2) + widest + 2;
  }
  std::string text;
  for (const auto &row : rows) {
    std::string line = "  ";
    for (size_t column = 0; column < row.size(); ++column) {
      line += row[column];
      if (column + 1 < row.size())
        pad(line, ends[column]);
    }
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}
