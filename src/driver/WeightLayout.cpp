//===- WeightLayout.cpp ---------------------------------------------------===//

#include "driver/WeightLayout.h"

#include <map>
#include <string>
#include <utility>

namespace tlm {

int32_t rootBuffer(const Plan &plan, int32_t buffer) {
  while (plan.buffers[size_t(buffer)].aliasOf >= 0)
    buffer = plan.buffers[size_t(buffer)].aliasOf;
  return buffer;
}

namespace {

class LayoutBuilder {
public:
  LayoutBuilder(const Graph &graph, const Plan &plan)
      : graph(graph), plan(plan) {}

  int32_t entryOf(int32_t buffer, const Packing *packing) {
    ValueId id = plan.buffers[size_t(buffer)].value;
    if (id == kNoValue || !graph.value(id).isConstant())
      id = plan.buffers[size_t(rootBuffer(plan, buffer))].value;
    TLM_CHECK(id != kNoValue && graph.value(id).isConstant())
        << "constant buffer " << buffer << " holds no constant";
    const Value &value = graph.value(id);
    auto key = std::make_pair(id, packing ? packing->text() : std::string());
    auto [place, isNew] = known.emplace(key, int32_t(layout.entries.size()));
    if (!isNew)
      return place->second;
    WeightEntry entry;
    entry.value = id;
    entry.packing = packing;
    entry.offset = layout.totalBytes;
    entry.bytes = int64_t(value.constant.sizeBytes);
    if (packing) {
      TLM_CHECK(value.dtype == DType::F32 &&
                countOf(packing->sourceDims) == countOf(value.dims))
          << "packing of " << value.name << ": " << packing->text();
      entry.bytes = packing->elementCount() * int64_t(sizeof(float));
    } else {
      const BufferType &type = plan.buffers[size_t(buffer)].type;
      TLM_CHECK(entry.bytes == type.sizeBytes())
          << value.name << " has " << entry.bytes << " bytes, its buffer is "
          << type.text();
    }
    layout.totalBytes = (entry.offset + entry.bytes + 63) / 64 * 64;
    layout.entries.push_back(entry);
    return place->second;
  }

  WeightLayout layout;

private:
  const Graph &graph;
  const Plan &plan;
  std::map<std::pair<ValueId, std::string>, int32_t> known;
};

} // namespace

WeightLayout layoutWeights(const Graph &graph, const Plan &plan,
                           const std::vector<Kernel> &kernels) {
  LayoutBuilder builder(graph, plan);
  auto isConstant = [&](int32_t buffer) {
    return plan.buffers[size_t(rootBuffer(plan, buffer))].kind ==
           BufferKind::Constant;
  };
  for (const PlanStep &step : plan.steps) {
    const Kernel &kernel = kernels[size_t(step.task)];
    std::vector<int32_t> &entries =
        builder.layout.operandEntries.emplace_back();
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (!isConstant(step.operands[i])) {
        entries.push_back(-1);
        continue;
      }
      bool isPacked = i < kernel.packings.size() && kernel.packings[i];
      entries.push_back(builder.entryOf(
          step.operands[i], isPacked ? &*kernel.packings[i] : nullptr));
    }
  }
  for (int32_t output : plan.outputs)
    builder.layout.outputEntries.push_back(
        isConstant(output) ? builder.entryOf(output, nullptr) : -1);
  return std::move(builder.layout);
}

} // namespace tlm
