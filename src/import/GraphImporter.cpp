#include "import/GraphImporter.h"

#include "graph/ShapeRule.h"
#include "import/InputShapes.h"
#include "import/NodeOrder.h"

#include <algorithm>
#include <set>

using namespace tlm;

namespace {

constexpr int64_t kMaxInlinedNodes = 100000;

bool isHalf(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

} // namespace

Result<ImportedModel> GraphImporter::run() {
  TLM_TRY_STATUS(checkVersions());
  result.summary = summarise(model);
  budget = FoldBudget::forWeights(result.summary.weightBytes);
  result.graph.name = model.graphName;
  for (const OnnxValueInfo &value : model.values)
    declared.emplace(value.name, &value);
  scopes.emplace_back();
  TLM_TRY_STATUS(addInputs());
  TLM_TRY_STATUS(addInitializers(model));
  TLM_TRY_STATUS(addNodes(model));
  for (const OnnxValueInfo &output : model.outputs)
    if (auto it = unmade.find(output.name); it != unmade.end())
      unsupported.add(*it->second, "output '" + output.name + "'");
  if (!unsupported.list().empty())
    return makeError(std::to_string(unsupported.list().size()) +
                         " kinds of nodes are not supported:\n" +
                         tableOf(unsupported.list()),
                     "`tlm ops` lists what is");
  TLM_TRY_STATUS(addOutputs());
  std::string broken = verifyGraph(result.graph);
  TLM_CHECK(broken.empty()) << "after import: " << broken;
  return std::move(result);
}

Status GraphImporter::checkVersions() {
  if (model.irVersion < kOldestIr)
    return makeError("ONNX IR version " + std::to_string(model.irVersion) +
                         "; " + std::to_string(kOldestIr) +
                         " and newer are "
                         "supported",
                     "re-export the model");
  if (model.irVersion > kNewestIr)
    result.warnings.push_back(
        "ONNX IR version " + std::to_string(model.irVersion) +
        " is newer than the tested " + std::to_string(kNewestIr));
  int64_t opset = model.opset();
  if (opset == 0)
    return makeError("the model imports no opset of ONNX's own domain");
  if (opset < kOldestOpset)
    return makeError("opset " + std::to_string(opset) + "; " +
                         std::to_string(kOldestOpset) + " to " +
                         std::to_string(kNewestOpset) + " are supported",
                     "onnx.version_converter can raise it");
  if (opset > kNewestOpset)
    result.warnings.push_back("opset " + std::to_string(opset) +
                              " is newer than the tested " +
                              std::to_string(kNewestOpset));
  return success();
}

Status GraphImporter::addInputs() {
  const std::vector<OnnxValueInfo> &inputs = result.summary.inputs;
  TLM_TRY(auto shapes, resolveInputShapes(inputs, options));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (isHalf(inputs[i].dtype))
      return makeError("input '" + inputs[i].name + "' is " +
                       typeText(inputs[i]) +
                       "; f16 and bf16 are not supported yet");
    if (inputs[i].name.empty())
      return makeError("input " + std::to_string(i) + " has no name");
    define(inputs[i].name) =
        builder.addInput(inputs[i].name, inputs[i].dtype, shapes[i]);
  }
  return success();
}

Status GraphImporter::addInitializers(const OnnxGraph &from) {
  for (const OnnxTensor &tensor : from.initializers) {
    if (tensor.dtype == DType::Invalid)
      return makeError("initializer '" + tensor.name + "' has ONNX data type " +
                       std::to_string(tensor.onnxType) +
                       ", which is not supported");
    define(tensor.name) = builder.addConstant(tensor.name, tensor.dtype,
                                              tensor.dims, tensor.constant);
  }
  return success();
}

const ValueId *GraphImporter::lookUp(const std::string &name) const {
  for (size_t i = scopes.size(); i-- > 0;)
    if (auto it = scopes[i].find(name); it != scopes[i].end())
      return &it->second;
  return nullptr;
}

Status GraphImporter::addNodes(const OnnxGraph &from) {
  TLM_TRY(std::vector<size_t> order,
          orderNodes(from, [&](const std::string &name) {
            return lookUp(name) != nullptr;
          }));
  for (size_t index : order)
    TLM_TRY_STATUS(addNode(from.nodes[index]));
  return success();
}

Result<std::vector<ValueId>>
GraphImporter::inlineGraph(const OnnxGraph &subgraph,
                           const std::vector<ValueId> &inputs) {
  inlinedNodes += int64_t(subgraph.nodes.size()) + 1;
  if (inlinedNodes > kMaxInlinedNodes)
    return makeError("If and Loop unroll to more than " +
                     std::to_string(kMaxInlinedNodes) + " nodes");
  if (inputs.size() != subgraph.inputs.size())
    return makeError("graph '" + subgraph.graphName + "' takes " +
                     std::to_string(subgraph.inputs.size()) + " inputs, " +
                     std::to_string(inputs.size()) + " are given");
  scopes.emplace_back();
  for (size_t i = 0; i < inputs.size(); ++i)
    define(subgraph.inputs[i].name) = inputs[i];
  std::vector<ValueId> results;
  Status status = addInitializers(subgraph);
  if (status.ok())
    status = addNodes(subgraph);
  for (const OnnxValueInfo &output : subgraph.outputs) {
    const ValueId *id = lookUp(output.name);
    if (!id && status.ok())
      status = makeError("output '" + output.name + "' of graph '" +
                         subgraph.graphName + "' is not defined");
    results.push_back(id ? *id : kNoValue);
  }
  scopes.pop_back();
  if (!status)
    return status.error();
  return results;
}

std::string GraphImporter::locate(const OnnxNode &node) const {
  return "node " + node.label() + ", opset " + std::to_string(model.opset()) +
         ": ";
}

Result<std::vector<ValueId>>
GraphImporter::operandsOf(const OnnxNode &node, const OnnxOperator &op) const {
  std::vector<ValueId> inputs;
  for (const std::string &name : node.inputs)
    inputs.push_back(name.empty() ? kNoValue : *lookUp(name));
  while (!inputs.empty() && inputs.back() == kNoValue)
    inputs.pop_back(); // absent optional ones
  bool many = op.maxInputs < 0;
  size_t needed =
      many && op.minInputs > 0 ? inputs.size() : size_t(op.minInputs);
  bool fits = inputs.size() >= size_t(op.minInputs) &&
              (many || inputs.size() <= size_t(op.maxInputs));
  for (size_t i = 0; fits && i < needed; ++i)
    fits = inputs[i] != kNoValue;
  if (!fits)
    return makeError(locate(node) + std::to_string(inputs.size()) +
                     " inputs; " + std::to_string(op.minInputs) + " to " +
                     (many ? "any number" : std::to_string(op.maxInputs)) +
                     " are allowed");
  return inputs;
}

Status GraphImporter::addNode(const OnnxNode &node) {
  auto skip = [&] {
    for (const std::string &name : node.outputs)
      define(name) = kNoValue;
    return success();
  };
  for (const std::string &name : node.inputs)
    if (auto it = unmade.find(name); it != unmade.end())
      unsupported.add(*it->second, "output '" + name + "'");
  const OnnxOperator *op = findOperator(node.domain, node.opType);
  if (!op) {
    unsupported.add(node, {});
    return skip();
  }
  for (const std::string &name : node.inputs)
    if (!name.empty() && *lookUp(name) == kNoValue)
      return skip();
  if (std::ranges::all_of(node.outputs, &std::string::empty))
    return makeError(locate(node) + "it has no output");
  TLM_TRY(std::vector<ValueId> inputs, operandsOf(node, *op));

  NodeImporter importer(result.graph, node, model.opset(), std::move(inputs),
                        *this, budget);
  Status status = op->import(importer);
  if (importer.isUnsupported()) {
    unsupported.add(node, status.error().message);
    return skip();
  }
  if (status.ok())
    status = importer.attributeStatus();
  if (!status)
    return makeError(locate(node) + status.error().message,
                     status.error().hint);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string &name = node.outputs[i];
    if (name.empty())
      continue;
    define(name) = importer.output(i);
    if (importer.output(i) == kNoValue)
      unmade.emplace(name, &node);
    else if (scopes.size() == 1)
      compareWithDeclared(name, importer.output(i));
  }
  return success();
}

void GraphImporter::compareWithDeclared(const std::string &name, ValueId id) {
  auto it = declared.find(name);
  if (it == declared.end() || !it->second->isTensor || !it->second->isRanked)
    return;
  const OnnxValueInfo &info = *it->second;
  const Value &value = result.graph.value(id);
  bool agree = info.dims.size() == value.dims.size() &&
               (info.dtype == value.dtype || info.onnxType == 0);
  for (size_t i = 0; agree && i < info.dims.size(); ++i)
    agree = info.dims[i].value < 0 || info.dims[i].value == value.dims[i];
  if (!agree)
    result.warnings.push_back("the model says '" + name + "' is " +
                              typeText(info) + ", it is " +
                              typeText(value.dtype, value.dims));
}

/// An output that a node makes for it alone takes the ONNX name; any other is
/// copied, so that no two outputs share memory and none shares an input's.
Status GraphImporter::addOutputs() {
  Graph &graph = result.graph;
  if (model.outputs.empty())
    return makeError("the model has no outputs");
  std::set<ValueId> computed, taken;
  for (const Node &node : graph.nodes)
    computed.insert(node.outputs.begin(), node.outputs.end());
  for (const OnnxValueInfo &output : model.outputs) {
    const ValueId *made = lookUp(output.name);
    if (!made || *made == kNoValue)
      return makeError("output '" + output.name +
                       "' is made by no node, input or initializer");
    ValueId id = *made;
    if (isHalf(graph.value(id).dtype))
      return makeError("output '" + output.name + "' is " +
                       typeText(graph.value(id).dtype, graph.value(id).dims) +
                       "; f16 and bf16 are not supported yet");
    declared[output.name] = &output;
    compareWithDeclared(output.name, id);
    if (!computed.contains(id) || !taken.insert(id).second) {
      Value copy{output.name, graph.value(id).dtype, graph.value(id).dims, {}};
      graph.values.push_back(std::move(copy));
      ValueId target = ValueId(graph.values.size() - 1);
      graph.nodes.push_back({Op::Reshape, output.name, {id}, {target}, {}});
      id = target;
    } else {
      graph.value(id).name = output.name;
    }
    graph.outputs.push_back(id);
  }
  return success();
}
