#include "graph/Graph.h"

#include "graph/ShapeRule.h"

using namespace tlm;

int64_t tlm::countOf(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

std::string tlm::typeText(DType type, const Dims &dims) {
  return std::string(nameOf(type)) + dimsText(dims);
}

namespace {

/// One walk over the graph that stops at the first broken invariant.
class Verifier {
public:
  explicit Verifier(const Graph &graph)
      : graph(graph), defined(graph.values.size(), false) {}

  std::string run() {
    std::string broken = defineConstants();
    for (ValueId id : graph.inputs)
      if (broken.empty())
        broken = define(id, "a graph input");
    for (const Node &node : graph.nodes)
      if (broken.empty())
        broken = checkNode(node);
    for (ValueId id : graph.outputs)
      if (broken.empty() && !isDefined(id))
        broken = "graph output " + label(id) + " is never defined";
    return broken;
  }

private:
  bool inRange(ValueId id) const {
    return id >= 0 && size_t(id) < graph.values.size();
  }
  bool isDefined(ValueId id) const {
    return inRange(id) && defined[size_t(id)];
  }

  std::string label(ValueId id) const {
    return inRange(id) ? "'" + graph.value(id).name + "'"
                       : "#" + std::to_string(id);
  }

  std::string define(ValueId id, const std::string &by) {
    if (!inRange(id))
      return by + " has the value id " + std::to_string(id) + ", out of range";
    if (defined[size_t(id)])
      return "value " + label(id) + " is defined twice, again by " + by;
    defined[size_t(id)] = true;
    return {};
  }

  std::string defineConstants() {
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const Value &value = graph.values[id];
      if (!value.isConstant())
        continue;
      size_t expected = size_t(countOf(value.dims)) * sizeOf(value.dtype);
      if (value.constant.sizeBytes != expected)
        return "constant '" + value.name + "' has " +
               std::to_string(value.constant.sizeBytes) + " bytes, its type " +
               typeText(value.dtype, value.dims) + " takes " +
               std::to_string(expected);
      defined[id] = true;
    }
    return {};
  }

  std::string checkNode(const Node &node) {
    std::string by =
        "node '" + node.name + "' (" + std::string(nameOf(node.op)) + ")";
    std::vector<Dims> inputs;
    std::vector<DType> types;
    for (ValueId id : node.inputs) {
      if (!isDefined(id))
        return by + " uses " + label(id) + " before it is defined";
      inputs.push_back(graph.value(id).dims);
      types.push_back(graph.value(id).dtype);
    }
    if (node.outputs.size() != 1)
      return by + " has " + std::to_string(node.outputs.size()) + " outputs";
    if (std::string broken = define(node.outputs[0], by); !broken.empty())
      return broken;

    const Value &output = graph.value(node.outputs[0]);
    Result<DType> type = inferType(node.op, types, inputs, node.attributes);
    if (!type)
      return by + ": " + type.error().message;
    if (*type != output.dtype)
      return by + " yields " + std::string(nameOf(*type)) + ", its output " +
             label(node.outputs[0]) + " says " +
             std::string(nameOf(output.dtype));
    if (node.op == Op::Reshape) {
      if (inputs.size() != 1 || countOf(inputs[0]) != countOf(output.dims))
        return by + " reshapes to another element count";
      return {};
    }
    Result<Dims> dims = inferShape(node.op, inputs, node.attributes);
    if (!dims)
      return by + ": " + dims.error().message;
    if (*dims != output.dims)
      return by + " yields " + dimsText(*dims) + ", its output " +
             label(node.outputs[0]) + " says " + dimsText(output.dims);
    return {};
  }

  const Graph &graph;
  std::vector<bool> defined;
};

} // namespace

std::string tlm::verifyGraph(const Graph &graph) {
  return Verifier(graph).run();
}
