#include "import/InputShapes.h"

#include "graph/ShapeRule.h"

#include <charconv>
#include <optional>

using namespace tlm;

namespace {

std::string namesOf(const std::vector<OnnxValueInfo> &inputs) {
  std::string text;
  for (const OnnxValueInfo &input : inputs)
    text += (text.empty() ? "" : ", ") + input.name + " " + typeText(input);
  return text.empty() ? "none" : text;
}

/// By name first, then by position; "" is the only one.
std::optional<size_t> findInput(const std::vector<OnnxValueInfo> &inputs,
                                const std::string &name) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == name)
      return i;
  if (name.empty())
    return inputs.size() == 1 ? std::optional<size_t>(0) : std::nullopt;
  size_t index = 0;
  auto [end, failed] =
      std::from_chars(name.data(), name.data() + name.size(), index);
  if (failed == std::errc() && end == name.data() + name.size() &&
      index < inputs.size())
    return index;
  return std::nullopt;
}

Status applyShape(std::vector<OnnxValueInfo> &inputs,
                  const ShapeOverride &shape) {
  auto index = findInput(inputs, shape.input);
  if (!index)
    return makeError("--shape names no input of the model: '" + shape.input +
                         "'",
                     "the inputs are " + namesOf(inputs));
  OnnxValueInfo &input = inputs[*index];
  if (!input.isRanked) {
    input.isRanked = true;
    input.dims.assign(shape.dims.size(), {});
  }
  if (shape.dims.size() != input.dims.size())
    return makeError("--shape gives input '" + input.name + "' " +
                     std::to_string(shape.dims.size()) +
                     " dims; the model declares " + typeText(input));
  for (size_t i = 0; i < shape.dims.size(); ++i)
    if (shape.dims[i] >= 0)
      input.dims[i] = {shape.dims[i], {}};
  return success();
}

/// An example that would make `input` static.
std::string exampleFor(const OnnxValueInfo &input, const OnnxDim &dim) {
  std::string shape = input.name + ":";
  for (size_t i = 0; i < input.dims.size(); ++i)
    shape += (i ? "x" : "") +
             std::to_string(input.dims[i].value < 0 ? 1 : input.dims[i].value);
  std::string hint = "give it a size, for example --shape " + shape;
  if (!dim.symbol.empty())
    hint += " or --dim " + dim.symbol + "=1";
  return hint;
}

} // namespace

Result<std::vector<Dims>>
tlm::resolveInputShapes(const std::vector<OnnxValueInfo> &declared,
                        const ImportOptions &options) {
  std::vector<OnnxValueInfo> inputs = declared;
  for (const auto &[symbol, size] : options.dims) {
    bool known = false;
    for (OnnxValueInfo &input : inputs)
      for (OnnxDim &dim : input.dims)
        if (dim.symbol == symbol) {
          dim.value = size;
          known = true;
        }
    if (!known)
      return makeError("--dim names no symbolic dim of an input: '" + symbol +
                           "'",
                       "the inputs are " + namesOf(declared));
  }
  for (const ShapeOverride &shape : options.shapes)
    TLM_TRY_STATUS(applyShape(inputs, shape));

  std::vector<Dims> result;
  for (const OnnxValueInfo &input : inputs) {
    if (!input.isTensor)
      return makeError("input '" + input.name + "' is no tensor");
    if (input.dtype == DType::Invalid)
      return makeError("input '" + input.name + "' has ONNX data type " +
                       std::to_string(input.onnxType) +
                       ", which is not supported");
    if (!input.isRanked)
      return makeError("input '" + input.name + "' has no declared shape",
                       "give one, for example --shape " + input.name +
                           ":1x3x224x224");
    Dims dims;
    for (size_t i = 0; i < input.dims.size(); ++i) {
      const OnnxDim &dim = input.dims[i];
      if (dim.value < 0)
        return makeError(
            "input '" + input.name + "' " + typeText(input) + ": dim " +
                std::to_string(i) +
                (dim.symbol.empty() ? "" : " ('" + dim.symbol + "')") +
                " is dynamic",
            exampleFor(input, dim));
      dims.push_back(dim.value);
    }
    if (!checkedCountOf(dims))
      return makeError("input '" + input.name + "' " + dimsText(dims) +
                       " has too many elements");
    result.push_back(std::move(dims));
  }
  return result;
}
