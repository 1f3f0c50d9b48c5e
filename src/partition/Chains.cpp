//===- Chains.cpp - steps that run stripe by stripe -----------------------===//

#include "partition/Lifetimes.h"

namespace tlm {

static bool isImage(const BufferType &type) {
  return type.dims.size() == 4 && type.dims[0] == 1;
}

static bool keepsRows(const Task &task) {
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
  for (size_t step = 1; step < plan.steps.size(); ++step) {
    if (!follows(step))
      continue;
    bool extends = !chains.empty() &&
                   chains.back().first + chains.back().count == int32_t(step);
    if (extends)
      ++chains.back().count;
    else
      chains.push_back({int32_t(step) - 1, 2});
  }
  return chains;
}

} // namespace tlm
