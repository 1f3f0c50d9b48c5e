#include "import/OnnxModel.h"

using namespace tlm;

std::string OnnxNode::label() const {
  std::string called = name;
  if (called.empty() && !outputs.empty())
    called = outputs[0];
  std::string op = domain.empty() ? opType : domain + "." + opType;
  return "'" + called + "' (" + op + ")";
}

int64_t OnnxModel::opset() const {
  for (const OnnxOpset &opset : opsets)
    if (opset.domain.empty())
      return opset.version;
  return 0;
}

std::string tlm::typeText(const OnnxValueInfo &info) {
  std::string text(nameOf(info.dtype));
  if (!info.isRanked)
    return text + "[*]";
  text += "[";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const OnnxDim &dim = info.dims[i];
    text += i ? "," : "";
    text += dim.value >= 0       ? std::to_string(dim.value)
            : dim.symbol.empty() ? "?"
                                 : dim.symbol;
  }
  return text + "]";
}
