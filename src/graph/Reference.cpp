#include "graph/Reference.h"

#include "graph/ShapeRule.h"
#include "graph/reference/Kernels.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

using namespace tlm;

namespace {

class Interpreter {
public:
  Interpreter(const Graph &graph, const ReferenceOptions &options)
      : graph(graph), options(options), computed(graph.values.size()),
        pendingUses(graph.values.size(), 0) {
    threads = options.threads > 0
                  ? options.threads
                  : int(std::max(1u, std::thread::hardware_concurrency()));
    wanted = options.wanted.empty() ? graph.outputs : options.wanted;
  }

  Result<std::vector<Tensor>> run(const std::vector<Tensor> &inputs) {
    TLM_TRY_STATUS(bindInputs(inputs));
    TLM_TRY_STATUS(checkMemory());
    for (ValueId id : wanted) {
      if (id < 0 || size_t(id) >= graph.values.size())
        return makeError("no value has the id " + std::to_string(id));
      ++pendingUses[size_t(id)];
    }
    for (const Node &node : graph.nodes)
      for (ValueId id : node.inputs)
        ++pendingUses[size_t(id)];
    for (const Node &node : graph.nodes)
      runNode(node);

    std::vector<Tensor> results;
    for (ValueId id : wanted) {
      TensorView view = viewOf(id);
      if (!view.data && view.count() != 0)
        return makeError("value '" + graph.value(id).name +
                         "' is not computed by the graph");
      Tensor result = Tensor::make(view.dtype, *view.dims);
      std::copy_n(view.raw(), result.sizeBytes(), result.raw());
      results.push_back(std::move(result));
    }
    return results;
  }

private:
  Status bindInputs(const std::vector<Tensor> &inputs) {
    if (inputs.size() != graph.inputs.size())
      return makeError(std::to_string(inputs.size()) + " inputs given, '" +
                       graph.name + "' has " +
                       std::to_string(graph.inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value &value = graph.value(graph.inputs[i]);
      if (inputs[i].dtype != value.dtype || inputs[i].dims != value.dims ||
          inputs[i].sizeBytes() !=
              size_t(countOf(value.dims)) * sizeOf(value.dtype))
        return makeError("input '" + value.name + "' is given as " +
                         typeText(inputs[i].dtype, inputs[i].dims) +
                         ", the graph wants " +
                         typeText(value.dtype, value.dims));
      given.push_back(&inputs[i]);
    }
    return success();
  }

  /// Refuses what this machine cannot hold instead of dying of it.
  Status checkMemory() const {
    int64_t memory =
        int64_t(::sysconf(_SC_PHYS_PAGES)) * int64_t(::sysconf(_SC_PAGESIZE));
    for (const Value &value : graph.values)
      if (countOf(value.dims) > memory / int64_t(2 * sizeof(float)))
        return makeError("value '" + value.name + "' " +
                             typeText(value.dtype, value.dims) +
                             " takes more than half of this machine's memory",
                         {}, ErrorCode::Machine);
    return success();
  }

  TensorView viewOf(ValueId id) const {
    const Value &value = graph.value(id);
    if (value.isConstant())
      return value;
    for (size_t i = 0; i < given.size(); ++i)
      if (graph.inputs[i] == id)
        return *given[i];
    return {value.dims,
            reinterpret_cast<const float *>(computed[size_t(id)].raw()),
            value.dtype};
  }

  void runNode(const Node &node) {
    std::vector<TensorView> operands;
    for (ValueId id : node.inputs)
      operands.push_back(viewOf(id));
    ValueId output = node.outputs[0];
    computed[size_t(output)] = reference::evaluate(
        node.op, node.attributes, operands, graph.value(output).dims, threads,
        graph.value(output).dtype);
    if (options.visit)
      options.visit(output, computed[size_t(output)]);
    for (ValueId id : node.inputs)
      if (--pendingUses[size_t(id)] == 0)
        computed[size_t(id)] = {};
    if (pendingUses[size_t(output)] == 0)
      computed[size_t(output)] = {};
  }

  const Graph &graph;
  const ReferenceOptions &options;
  int threads;
  std::vector<ValueId> wanted;
  std::vector<const Tensor *> given;
  std::vector<Tensor> computed;
  std::vector<int64_t> pendingUses;
};

} // namespace

Result<std::vector<Tensor>> tlm::runReference(const Graph &graph,
                                              const std::vector<Tensor> &inputs,
                                              const ReferenceOptions &options) {
  return Interpreter(graph, options).run(inputs);
}
