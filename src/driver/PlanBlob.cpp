//===- PlanBlob.cpp -------------------------------------------------------===//

#include "driver/PlanBlob.h"

#include "driver/Stripes.h"
#include "runtime/Format.h"
#include "runtime/Hash.h"

#include <cstring>
#include <map>

namespace tlm {

namespace {

class BlobBuilder {
public:
  BlobBuilder(const ArtifactInput &input, const WeightLayout &layout)
      : graph(*input.graph), plan(*input.plan), kernels(*input.kernels),
        layout(layout), threads(input.target.threads) {
    blob.bytes.resize(sizeof(TlmPlanHeader));
  }

  PlanBlob build(const ArtifactInput &input, const std::string &sideFile) {
    TlmPlanHeader header = {};
    std::memcpy(header.magic, TLM_PLAN_MAGIC, sizeof(header.magic));
    header.version = TLM_FORMAT_VERSION;
    header.headerBytes = sizeof(header);
    header.weightsBytes = uint64_t(layout.totalBytes);
    header.sideFile = sideFile.empty() ? 0 : text(sideFile);
    header.name = text(input.name);
    header.cpu = text(input.target.cpu);
    header.threads = int32_t(input.target.threads);
    std::vector<uint32_t> features;
    for (const std::string &feature : input.target.features)
      features.push_back(text(feature));
    header.features = array(features);
    header.inputs = tensors(plan.inputs);
    header.outputs = tensors(plan.outputs);
    header.kernels = kernelRecords();
    header.plans = array(std::vector<TlmPlanRecord>{planRecord()});
    blob.bytes.resize((blob.bytes.size() + 7) / 8 * 8);
    TLM_CHECK(blob.bytes.size() < UINT32_MAX) << "plan of 4 GiB";
    header.blobBytes = blob.bytes.size();
    std::memcpy(blob.bytes.data(), &header, sizeof(header));
    return std::move(blob);
  }

private:
  uint32_t text(const std::string &value) {
    auto [place, isNew] = texts.emplace(value, uint32_t(blob.bytes.size()));
    if (isNew)
      blob.bytes.append(value.c_str(), value.size() + 1);
    return place->second;
  }

  template <typename T>
  TlmSlice array(const std::vector<T> &records) {
    blob.bytes.resize((blob.bytes.size() + 7) / 8 * 8);
    TlmSlice slice = {uint32_t(blob.bytes.size()), uint32_t(records.size())};
    blob.bytes.append(reinterpret_cast<const char *>(records.data()),
                      records.size() * sizeof(T));
    return slice;
  }

  const PlanBuffer &buffer(int32_t index) const {
    return plan.buffers[size_t(index)];
  }

  TlmSlice tensors(const std::vector<int32_t> &buffers) {
    std::vector<TlmTensorRecord> records;
    for (int32_t index : buffers) {
      const BufferType &type = buffer(index).type;
      TLM_CHECK(type.layout == Layout::Plain && type.border.empty())
          << "user tensor as " << type.text();
      TlmTensorRecord record = {};
      record.name = text(graph.value(buffer(index).value).name);
      record.dtype = int32_t(type.dtype);
      record.rank = int32_t(type.dims.size());
      record.dims = array(type.dims).offset;
      records.push_back(record);
    }
    return array(records);
  }

  /// Where a buffer that is no constant lies.
  TlmLocation location(int32_t index) const {
    const PlanBuffer &root = buffer(rootBuffer(plan, index));
    TlmLocation place = {};
    switch (root.kind) {
    case BufferKind::Input:
      place.place = TLM_PLACE_INPUT;
      place.index = root.index;
      break;
    case BufferKind::Output:
      place.place = TLM_PLACE_OUTPUT;
      place.index = root.index;
      break;
    case BufferKind::Arena:
      TLM_CHECK(root.offset >= 0 && root.offset % 64 == 0 &&
                root.offset + root.type.sizeBytes() <= plan.arenaBytes)
          << "arena buffer " << index << " at " << root.offset;
      place.place = TLM_PLACE_ARENA;
      place.offset = root.offset;
      break;
    case BufferKind::Constant:
      TLM_CHECK(false) << "constant buffer " << index << " has no one place";
    }
    return place;
  }

  TlmLocation weight(int32_t entry) const {
    return {TLM_PLACE_WEIGHT, 0, layout.entries[size_t(entry)].offset};
  }

  TlmSlice kernelRecords() {
    std::vector<TlmKernelRecord> records;
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      const Kernel &kernel = kernels[i];
      std::vector<TlmStageRecord> stages;
      for (const KernelStage &stage : kernel.stages) {
        stages.push_back({uint32_t(blob.stageSymbols.size()), 0, stage.chunks});
        blob.stageSymbols.push_back(stage.symbol);
      }
      TlmKernelRecord record = {};
      record.stages = array(stages);
      record.scratchBytes = kernel.scratchBytes;
      record.workerScratchBytes = kernel.workerScratchBytes;
      record.maxParallelism = kernel.maxParallelism;
      record.flops = plan.tasks[i].flops();
      record.bytes = plan.tasks[i].bytes();
      record.label = text(plan.tasks[i].label());
      record.key = text(plan.tasks[i].key());
      records.push_back(record);
    }
    return array(records);
  }

  TlmSlice bufferRecords() {
    std::vector<TlmBufferRecord> records;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const PlanBuffer &item = plan.buffers[i];
      TlmBufferRecord record = {};
      if (buffer(rootBuffer(plan, int32_t(i))).kind != BufferKind::Constant)
        record.location = location(int32_t(i));
      record.dtype = int32_t(item.type.dtype);
      record.rank = int32_t(item.type.dims.size());
      record.dims = array(item.type.dims).offset;
      record.strides = array(item.type.strides()).offset;
      record.origin = item.type.origin();
      record.sizeBytes = item.type.sizeBytes();
      if (item.value != kNoValue)
        record.valueName = text(graph.value(item.value).name);
      records.push_back(record);
    }
    return array(records);
  }

  TlmSlice borderRecords() {
    std::vector<TlmBorderRecord> records;
    stepBorders.assign(plan.steps.size(), 0);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const PlanBuffer &item = plan.buffers[i];
      const BufferType &type = item.type;
      if (item.kind != BufferKind::Arena || item.aliasOf >= 0 ||
          type.border.empty())
        continue;
      TLM_CHECK(type.dims.size() == 4 && type.dtype == DType::F32)
          << "border of " << type.text();
      bool isNhwc = type.layout == Layout::Nhwc;
      TlmBorderRecord record = {};
      record.offset = item.offset;
      record.planes = isNhwc ? type.dims[0] : type.dims[0] * type.dims[1];
      record.top = type.border.top;
      record.height = type.dims[2];
      record.bottom = type.border.bottom;
      record.left = type.border.left;
      record.width = type.dims[3];
      record.right = type.border.right;
      record.inner = isNhwc ? type.channelStride : 1;
      record.elementBytes = sizeof(float);
      std::memcpy(&record.pattern, &type.border.value, sizeof(float));
      record.everyRun = item.borderEveryRun;
      for (size_t step = 0; item.borderEveryRun && step < plan.steps.size();
           ++step)
        if (plan.steps[step].operands.back() == int32_t(i))
          stepBorders[step] = uint32_t(records.size()) + 1;
      records.push_back(record);
    }
    return array(records);
  }

  TlmSlice stepRecords() {
    std::vector<TlmStepRecord> records;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const PlanStep &step = plan.steps[i];
      std::vector<TlmLocation> operands;
      for (size_t j = 0; j < step.operands.size(); ++j) {
        int32_t entry = layout.operandEntries[i][j];
        operands.push_back(entry >= 0 ? weight(entry)
                                      : location(step.operands[j]));
      }
      TlmStepRecord record = {};
      record.kernel = uint32_t(step.task);
      record.outputBuffer = uint32_t(step.operands.back());
      record.operands = array(operands);
      record.name = text(step.name);
      record.border = stepBorders[i];
      records.push_back(record);
    }
    return array(records);
  }

  TlmSlice phaseRecords() {
    std::vector<TlmPhaseRecord> records;
    std::vector<bool> begun(plan.steps.size());
    for (const StepPhase &phase : phasesOf(plan, kernels, threads)) {
      std::vector<TlmPartRecord> parts;
      std::vector<uint32_t> ends, borders;
      for (const std::vector<StepPart> &list : phase.lists) {
        for (const StepPart &part : list) {
          parts.push_back(
              {uint32_t(part.step), 0, part.firstChunk, part.chunks});
          size_t step = size_t(part.step);
          if (stepBorders[step] && !begun[step])
            borders.push_back(stepBorders[step] - 1);
          begun[step] = true;
        }
        ends.push_back(uint32_t(parts.size()));
      }
      if (phase.shared)
        ends.clear();
      TlmPhaseRecord record = {};
      record.parts = array(parts);
      record.listEnds = array(ends);
      record.borders = array(borders);
      records.push_back(record);
    }
    return array(records);
  }

  /// Outputs that are not the place a step writes to.
  TlmSlice copyRecords() {
    std::vector<TlmCopyRecord> records;
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      int32_t entry = layout.outputEntries[i];
      TlmLocation source =
          entry >= 0 ? weight(entry) : location(plan.outputs[i]);
      if (source.place == TLM_PLACE_OUTPUT && size_t(source.index) == i)
        continue;
      records.push_back(
          {int32_t(i), 0, source, buffer(plan.outputs[i]).type.sizeBytes()});
    }
    return array(records);
  }

  TlmPlanRecord planRecord() {
    std::vector<int64_t> guard;
    for (int32_t input : plan.inputs)
      for (int64_t dim : buffer(input).type.dims)
        guard.push_back(dim);
    TlmPlanRecord record = {};
    record.guard = array(guard);
    record.buffers = bufferRecords();
    record.borders = borderRecords();
    record.steps = stepRecords();
    record.phases = phaseRecords();
    record.copies = copyRecords();
    record.arenaBytes = plan.arenaBytes;
    return record;
  }

  /// Per step: 1 + the border that is filled before it in every run, or 0.
  std::vector<uint32_t> stepBorders;
  const Graph &graph;
  const Plan &plan;
  const std::vector<Kernel> &kernels;
  const WeightLayout &layout;
  int64_t threads;
  PlanBlob blob;
  std::map<std::string, uint32_t> texts;
};

} // namespace

PlanBlob buildPlanBlob(const ArtifactInput &input, const WeightLayout &layout,
                       const std::string &sideFile) {
  return BlobBuilder(input, layout).build(input, sideFile);
}

void sealPlanBlob(char *blob, size_t size, uint64_t weightsHash) {
  TlmPlanHeader header;
  TLM_CHECK(size >= sizeof(header)) << size;
  std::memcpy(&header, blob, sizeof(header));
  header.weightsHash = weightsHash;
  header.hash = 0;
  uint64_t hash = tlmHash(0, &header, sizeof(header));
  header.hash =
      tlmHash(hash, blob + sizeof(header), header.blobBytes - sizeof(header));
  std::memcpy(blob, &header, sizeof(header));
}

} // namespace tlm
