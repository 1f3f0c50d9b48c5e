//===- PlanText.cpp -------------------------------------------------------===//

#include "partition/Lifetimes.h"

namespace tlm {

static std::string bufferText(const Plan &plan, const Graph &graph,
                              int32_t index) {
  const PlanBuffer &buffer = plan.buffers[size_t(index)];
  std::string name = graph.value(buffer.value).name;
  switch (buffer.kind) {
  case BufferKind::Input:
    return "input" + std::to_string(buffer.index) + " '" + name + "'";
  case BufferKind::Output:
    return "output" + std::to_string(buffer.index) + " '" + name + "'";
  case BufferKind::Arena:
    return 'b' + std::to_string(rootOf(plan, index)) + '@' +
           std::to_string(buffer.offset);
  case BufferKind::Constant:
    return "const '" + name + "'";
  }
  return "?";
}

std::string planText(const Plan &plan, const Graph &graph) {
  std::string text;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep &step = plan.steps[i];
    const Task &task = plan.tasks[size_t(step.task)];
    text += "step" + std::to_string(i) + " task" + std::to_string(step.task) +
            ' ' + task.label() + " '" + step.name + "'\n";
    for (size_t j = 0; j < step.operands.size(); ++j)
      text += "  " + std::string(nameOf(task.operands[j].role)) + ' ' +
              bufferText(plan, graph, step.operands[j]) + ' ' +
              task.operands[j].type.text() + '\n';
  }
  for (const PlanChain &chain : plan.chains)
    text += "chain of steps " + std::to_string(chain.first) + " to " +
            std::to_string(chain.first + chain.count - 1) + '\n';
  text += std::to_string(plan.steps.size()) + " steps, " +
          std::to_string(plan.tasks.size()) + " tasks, arena " +
          std::to_string(plan.arenaBytes) + " bytes (naive " +
          std::to_string(plan.naiveBytes) + ")\n";
  return text;
}

} // namespace tlm
