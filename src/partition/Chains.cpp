//===- Chains.cpp - steps that run stripe by stripe -----------------------===//

#include "partition/Lifetimes.h"

namespace tlm {

static bool isImage(const BufferType &type) {
  return type.dims.size() == 4 && type.dims[0] == 1;
}

bool keepsRows(const Task &task) {
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return isImage(task.find(Role::Input)->type) &&
           isImage(task.output().type) &&
           task.output().type.layout == Layout::Nhwc;
  default:
    return false;
  }
}

/// What every stripe reads again. A 3x3 filter may become Winograd's, four
/// times as large.
static int64_t constantBytes(const Task &task) {
  int64_t bytes = 0;
  for (const Operand &operand : task.operands)
    if (operand.isConstant)
      bytes += operand.type.sizeBytes();
  bool mayBeWinograd = task.kind == TaskKind::Conv &&
                       task.windows[0].kernel == 3 &&
                       task.windows[0].stride == 1;
  return mayBeWinograd ? 4 * bytes : bytes;
}

std::vector<PlanChain> findChains(const Plan &plan, int64_t bytes) {
  auto taskOf = [&](size_t step) -> const Task & {
    return plan.tasks[size_t(plan.steps[step].task)];
  };
  // Whether `step` reads a large image that the step before it wrote.
  auto follows = [&](size_t step) {
    const Task &task = taskOf(step), &before = taskOf(step - 1);
    if (!keepsRows(task) || !keepsRows(before) ||
        before.output().type.sizeBytes() < bytes)
      return false;
    size_t input = size_t(task.indexOf(Role::Input));
    return plan.steps[step].operands[input] ==
           plan.steps[step - 1].operands.back();
  };
  std::vector<PlanChain> chains;
  int64_t constants = 0; // of the chain that ends before `step`
  for (size_t step = 1; step < plan.steps.size(); ++step) {
    bool extends = !chains.empty() &&
                   chains.back().first + chains.back().count == int32_t(step);
    if (!extends)
      constants = constantBytes(taskOf(step - 1));
    constants += constantBytes(taskOf(step));
    if (!follows(step) || constants > bytes / 2)
      continue;
    if (extends)
      ++chains.back().count;
    else
      chains.push_back({int32_t(step) - 1, 2});
  }
  return chains;
}

} // namespace tlm
