//===- PlanInterpreter.cpp ------------------------------------------------===//

#include "partition/PlanInterpreter.h"

#include "partition/Lifetimes.h"
#include "task/Evaluator.h"

#include <algorithm>
#include <cmath>

namespace tlm {

using Index = std::vector<int64_t>;

/// Calls body with every index of dims, in row-major order.
template <typename Body>
static void forEachIndex(const Index &dims, Body body) {
  Index index(dims.size(), 0);
  for (int64_t i = 0, count = countOf(dims); i < count; ++i) {
    body(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
}

PlanInterpreter::PlanInterpreter(const Plan &plan, const Graph &graph)
    : plan(plan), arena(size_t(plan.arenaBytes / 4), NAN),
      owned(plan.buffers.size()) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer &buffer = plan.buffers[i];
    if (buffer.aliasOf >= 0)
      continue;
    if (buffer.kind != BufferKind::Arena) {
      owned[i].assign(size_t(buffer.type.elementCount()), NAN);
      const Constant &constant = graph.value(buffer.value).constant;
      if (buffer.kind == BufferKind::Constant)
        std::copy_n(constant.as<float>(), owned[i].size(), owned[i].begin());
    }
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (!plan.buffers[i].borderEveryRun)
      writeBorder(int32_t(i));
}

void PlanInterpreter::writeBorder(int32_t index) {
  const PlanBuffer &buffer = plan.buffers[size_t(index)];
  if (buffer.type.border.empty())
    return;
  std::fill_n(arena.begin() + buffer.offset / 4, buffer.type.elementCount(),
              buffer.type.border.value);
  // What is inside is nobody's yet.
  Memory memory = memoryOf(index, buffer.type);
  forEachIndex(memory.type->dims,
               [&](const Index &at) { memory.at(at) = NAN; });
}

float &PlanInterpreter::Memory::at(const Index &index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    if (type->dims[i] != 1 || index[i] < 0)
      offset += index[i] * strides[i];
  return base[offset];
}

PlanInterpreter::Memory PlanInterpreter::memoryOf(int32_t index,
                                                  const BufferType &type) {
  int32_t root = rootOf(plan, index);
  float *data = plan.buffers[size_t(root)].kind == BufferKind::Arena
                    ? arena.data() + plan.buffers[size_t(root)].offset / 4
                    : owned[size_t(root)].data();
  return {&type, type.strides(), data + type.origin()};
}

std::vector<Tensor> PlanInterpreter::run(const std::vector<Tensor> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    owned[size_t(plan.inputs[i])] = inputs[i].data;
  for (const PlanStep &step : plan.steps)
    runStep(step);
  std::vector<Tensor> outputs;
  for (int32_t index : plan.outputs)
    outputs.push_back(
        {plan.buffers[size_t(index)].type.dims, owned[size_t(index)]});
  return outputs;
}

void PlanInterpreter::runStep(const PlanStep &step) {
  const Task &task = plan.tasks[size_t(step.task)];
  if (plan.buffers[size_t(step.operands.back())].borderEveryRun)
    writeBorder(step.operands.back());
  operands.clear();
  for (size_t i = 0; i < step.operands.size(); ++i)
    operands.push_back(memoryOf(step.operands[i], task.operands[i].type));
  // The lanes behind C hold something finite.
  const BufferType &type = task.output().type;
  if (type.layout == Layout::Nhwc)
    forEachIndex({type.dims[0], type.channelStride, type.dims[2], type.dims[3]},
                 [&](const Index &index) {
                   float *lane = operands.back().base;
                   for (size_t i = 0; i < 4; ++i)
                     lane += index[i] * operands.back().strides[i];
                   *lane = -77777;
                 });
  std::vector<const float *> buffers;
  for (const Memory &operand : operands)
    buffers.push_back(operand.base - operand.type->origin());
  Evaluator evaluator(task, buffers);
  forEachIndex(type.dims, [&](const Index &out) {
    operands.back().at(out) = evaluator.at(out);
  });
}

} // namespace tlm
