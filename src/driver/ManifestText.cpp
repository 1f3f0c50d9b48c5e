//===- ManifestText.cpp ---------------------------------------------------===//

#include "driver/ManifestText.h"

#include "runtime/Format.h"
#include "tlm/tlm.h"

#include <nlohmann/json.hpp>

namespace tlm {

namespace {

using Json = nlohmann::json;

Json signature(const Graph &graph, const Plan &plan,
               const std::vector<int32_t> &buffers) {
  Json list = Json::array();
  for (int32_t index : buffers) {
    const PlanBuffer &buffer = plan.buffers[size_t(index)];
    list.push_back({{"name", graph.value(buffer.value).name},
                    {"dtype", nameOf(buffer.type.dtype)},
                    {"dims", buffer.type.dims},
                    {"symbols", Json::array()}});
  }
  return list;
}

Json kernelList(const ArtifactInput &input) {
  Json list = Json::array();
  for (size_t i = 0; i < input.plan->tasks.size(); ++i) {
    const Task &task = input.plan->tasks[i];
    const Kernel &kernel = (*input.kernels)[i];
    Json stages = Json::array();
    for (const KernelStage &stage : kernel.stages)
      stages.push_back({{"symbol", stage.symbol}, {"chunks", stage.chunks}});
    Json entry = {{"key", task.key()},
                  {"label", task.label()},
                  {"flops", task.flops()},
                  {"bytes", task.bytes()},
                  {"stages", stages},
                  {"scratch_bytes", kernel.scratchBytes},
                  {"worker_scratch_bytes", kernel.workerScratchBytes},
                  {"max_parallelism", kernel.maxParallelism}};
    if (input.schedules && i < input.schedules->size())
      entry["schedule"] = (*input.schedules)[i].text();
    if (input.fallbackReasons && !(*input.fallbackReasons)[i].empty())
      entry["fallback_reason"] = (*input.fallbackReasons)[i];
    list.push_back(std::move(entry));
  }
  return list;
}

Json stepList(const Graph &graph, const Plan &plan) {
  Json list = Json::array();
  for (const PlanStep &step : plan.steps) {
    Json operands = Json::array();
    for (int32_t index : step.operands) {
      const PlanBuffer &buffer = plan.buffers[size_t(index)];
      operands.push_back(buffer.value == kNoValue
                             ? std::string()
                             : graph.value(buffer.value).name);
    }
    list.push_back({{"name", step.name},
                    {"kernel", step.task},
                    {"operands", std::move(operands)}});
  }
  return list;
}

} // namespace

std::string manifestText(const ArtifactInput &input, const WeightLayout &layout,
                         const std::string &sideFile) {
  const Graph &graph = *input.graph;
  const Plan &plan = *input.plan;
  Json manifest = {
      {"tool", "tlm"},
      {"versions",
       {{"tool", TLM_TOOL_VERSION},
        {"abi", TLM_ABI_VERSION},
        {"format", TLM_FORMAT_VERSION},
        {"task", kTaskVersion},
        {"schedule", kScheduleVersion}}},
      {"name", input.name},
      {"model", graph.name},
      {"target",
       {{"triple", input.target.triple},
        {"cpu", input.target.cpu},
        {"features", input.target.features},
        {"threads", input.target.threads}}},
      {"inputs", signature(graph, plan, plan.inputs)},
      {"outputs", signature(graph, plan, plan.outputs)},
      {"memory",
       {{"arena_bytes", plan.arenaBytes}, {"naive_bytes", plan.naiveBytes}}},
      {"weights",
       {{"bytes", layout.totalBytes},
        {"tensors", layout.entries.size()},
        {"side_file", sideFile}}},
      {"kernels", kernelList(input)},
      {"steps", stepList(graph, plan)},
  };
  // Names come from the user's file: bytes that are no UTF-8 are replaced.
  return manifest.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tlm
