#include "search/Features.h"

#include "space/CodeSize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

using namespace tlm;

namespace {

constexpr Decision kDecisions[] = {
#define TLM_DECISION(id, name, text) Decision::name,
#include "space/Decisions.def"
};
/// The last one stands for all others.
constexpr std::string_view kSubjects[] = {"",  "f", "w",    "h",     "rows",
                                          "c", "x", "keys", "depth", "other"};
constexpr size_t kSubjectCount = std::size(kSubjects);

float logOf(double value) { return float(std::log2(std::max(0.0, value) + 1)); }

struct Column {
  const char *name;
  double value;
};

std::vector<Column> derived(const Task &task, const Target &target,
                            const KernelEstimate &e) {
  double l1 = double(target.l1dBytes), l2 = double(target.l2Bytes),
         l3 = double(target.l3Bytes);
  auto ratio = [](double bytes, double size) {
    return std::log2((bytes + 1) / size);
  };
  double flops = std::max(1.0, task.flops());
  const std::vector<int64_t> &out = task.output().type.dims;
  const std::vector<int64_t> &in = task.operands.front().type.dims;
  auto extent = [](const std::vector<int64_t> &dims, size_t fromEnd) {
    return dims.size() > fromEnd
               ? logOf(double(dims[dims.size() - 1 - fromEnd]))
               : 0.0F;
  };
  auto window = [&](size_t i) {
    return i < task.windows.size() ? double(task.windows[i].kernel) : 0;
  };
  return {
      {"kind", double(task.kind)},
      {"flops", logOf(flops)},
      {"bytes", logOf(task.bytes())},
      {"intensity", std::log2(flops / std::max(1.0, task.bytes()))},
      {"in_0", extent(in, 0)},
      {"in_1", extent(in, 1)},
      {"in_2", extent(in, 2)},
      {"out_0", extent(out, 0)},
      {"out_1", extent(out, 1)},
      {"out_2", extent(out, 2)},
      {"out_3", extent(out, 3)},
      {"kernel_h", window(0)},
      {"kernel_w", window(1)},
      {"stride", task.windows.empty() ? 0 : double(task.windows[0].stride)},
      {"groups", logOf(double(task.groups))},
      {"epilogue", logOf(double(epilogueOperations(task)))},
      {"tile_pixels", e.tilePixels},
      {"tile_vectors", e.tileVectors},
      {"registers", e.registers},
      {"register_share", e.registers / double(target.vectorRegisters)},
      {"register_reuse", e.vectorOperations * double(target.vectorFloats()) *
                             4 / std::max(1.0, e.registerTraffic)},
      {"useful_operations",
       flops / std::max(1.0, 2 * e.vectorOperations *
                                 double(target.vectorFloats()))},
      {"steps", logOf(e.steps)},
      {"cycles_per_step", logOf(e.cyclesPerStep)},
      {"panel_in_l1", ratio(e.panelBytes, l1)},
      {"panel_in_l2", ratio(e.panelBytes, l2)},
      {"chunk_input_in_l1", ratio(e.chunkInputBytes, l1)},
      {"chunk_input_in_l2", ratio(e.chunkInputBytes, l2)},
      {"chunk_weights_in_l1", ratio(e.chunkWeightBytes, l1)},
      {"chunk_weights_in_l2", ratio(e.chunkWeightBytes, l2)},
      {"chunk_output_in_l2", ratio(e.chunkOutputBytes, l2)},
      {"footprint_in_l2", ratio(e.cacheFootprint, l2)},
      {"footprint_in_l3", ratio(e.cacheFootprint, l3)},
      {"cache_traffic", logOf(e.cacheTraffic)},
      {"cache_reuse", std::log2(flops / (e.cacheTraffic + 1))},
      {"chunks", logOf(e.chunks)},
      {"workers", e.workers},
      {"imbalance", e.imbalance},
      {"stages", e.stages},
      {"operation_time", logOf(e.operationTime)},
      {"l2_time", logOf(e.l2Time)},
      {"memory_time", logOf(e.memoryTime)},
      {"epilogue_time", logOf(e.epilogueTime)},
      {"predicted_time", logOf(e.microseconds)},
  };
}

} // namespace

static size_t subjectIndex(std::string_view subject) {
  const auto *end = std::end(kSubjects) - 1;
  return size_t(std::find(std::begin(kSubjects), end, subject) -
                std::begin(kSubjects));
}

const std::vector<std::string> &tlm::featureNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    Task task;
    task.operands.emplace_back();
    for (const Column &column : derived(task, Target(), {}))
      names.emplace_back(column.name);
    for (Decision decision : kDecisions)
      for (std::string_view subject : kSubjects)
        names.push_back(std::string(nameOf(decision)) +
                        (subject.empty() ? "" : "_") + std::string(subject));
    return names;
  }();
  return kNames;
}

FeatureVector tlm::featuresOf(const Task &task, const Target &target,
                              const Schedule &schedule) {
  FeatureVector features;
  for (const Column &column :
       derived(task, target, estimateKernel(task, target, schedule)))
    features.push_back(float(column.value));
  size_t first = features.size();
  features.resize(first + std::size(kDecisions) * kSubjectCount,
                  std::numeric_limits<float>::quiet_NaN());
  for (const Choice &choice : schedule.choices) {
    auto row = size_t(std::find(std::begin(kDecisions), std::end(kDecisions),
                                choice.decision) -
                      std::begin(kDecisions));
    bool named = valueText(choice.decision, 0) != "0";
    features[first + row * kSubjectCount + subjectIndex(choice.subject)] =
        named ? float(choice.value) : logOf(double(choice.value));
  }
  return features;
}
