#include "import/NodeOrder.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

using namespace tlm;

namespace {

constexpr size_t kGiven = size_t(-1); // an input or initializer

using Makers = std::unordered_map<std::string, size_t>;

/// Who makes each name.
Result<Makers> findMakers(const OnnxGraph &model) {
  Makers makers;
  std::unordered_set<std::string> initializers;
  for (const OnnxTensor &tensor : model.initializers) {
    if (!initializers.insert(tensor.name).second)
      return makeError("initializer '" + tensor.name + "' is defined twice");
    makers.emplace(tensor.name, kGiven);
  }
  std::unordered_set<std::string> inputs;
  for (const OnnxValueInfo &input : model.inputs) {
    if (!inputs.insert(input.name).second)
      return makeError("input '" + input.name + "' is defined twice");
    makers.emplace(input.name, kGiven); // may be an initializer as well
  }
  for (size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string &name : model.nodes[i].outputs)
      if (!name.empty() && !makers.emplace(name, i).second)
        return makeError("value '" + name +
                         "' is defined twice, again by node " +
                         model.nodes[i].label());
  return makers;
}

/// What the graphs inside a node read and do not define themselves.
void addFreeNames(const OnnxNode &node, std::vector<std::string> &names) {
  for (const OnnxAttribute &attribute : node.attributes) {
    if (!attribute.graph)
      continue;
    const OnnxGraph &graph = *attribute.graph;
    std::unordered_set<std::string> own;
    std::vector<std::string> read;
    for (const OnnxTensor &tensor : graph.initializers)
      own.insert(tensor.name);
    for (const OnnxValueInfo &input : graph.inputs)
      own.insert(input.name);
    for (const OnnxNode &each : graph.nodes) {
      own.insert(each.outputs.begin(), each.outputs.end());
      read.insert(read.end(), each.inputs.begin(), each.inputs.end());
      addFreeNames(each, read);
    }
    for (const OnnxValueInfo &output : graph.outputs)
      read.push_back(output.name);
    for (const std::string &name : read)
      if (!name.empty() && !own.contains(name))
        names.push_back(name);
  }
}

} // namespace

Result<std::vector<size_t>> tlm::orderNodes(const OnnxGraph &model,
                                            const IsOuterName &isOuter) {
  TLM_TRY(Makers makers, findMakers(model));
  std::vector<std::vector<size_t>> readers(model.nodes.size());
  std::vector<size_t> waitsFor(model.nodes.size(), 0);
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    std::vector<std::string> read = model.nodes[i].inputs;
    addFreeNames(model.nodes[i], read);
    for (const std::string &name : read) {
      if (name.empty())
        continue;
      auto maker = makers.find(name);
      if (maker == makers.end() && isOuter(name))
        continue;
      if (maker == makers.end())
        return makeError("node " + model.nodes[i].label() + " reads '" + name +
                         "', which no input, initializer or node defines");
      if (maker->second == kGiven)
        continue;
      readers[maker->second].push_back(i);
      ++waitsFor[i];
    }
  }

  // The smallest index that is ready: the file's order when it is sorted.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < model.nodes.size(); ++i)
    if (waitsFor[i] == 0)
      ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (size_t reader : readers[node])
      if (--waitsFor[reader] == 0)
        ready.push(reader);
  }
  for (size_t i = 0; i < model.nodes.size(); ++i)
    if (waitsFor[i] != 0)
      return makeError("node " + model.nodes[i].label() +
                       " depends on its own output: the graph has a cycle");
  return order;
}
