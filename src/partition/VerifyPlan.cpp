//===- VerifyPlan.cpp -----------------------------------------------------===//

#include "partition/Lifetimes.h"

#include <set>

namespace tlm {

namespace {

class PlanVerifier {
public:
  PlanVerifier(const Plan &plan, const Graph &graph)
      : plan(plan), graph(graph), written(plan.buffers.size(), false) {}

  std::string run() {
    for (auto check :
         {&PlanVerifier::checkBuffers, &PlanVerifier::checkSignature,
          &PlanVerifier::checkTasks, &PlanVerifier::checkSteps,
          &PlanVerifier::checkChains, &PlanVerifier::checkArena})
      if (std::string broken = (this->*check)(); !broken.empty())
        return broken;
    return {};
  }

private:
  static std::string name(const char *what, size_t index) {
    return what + std::to_string(index) + ": ";
  }
  bool isBuffer(int32_t index) const {
    return index >= 0 && size_t(index) < plan.buffers.size();
  }

  std::string checkBuffers() {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const PlanBuffer &buffer = plan.buffers[i];
      std::string where = name("buffer", i);
      if (buffer.value < 0 || size_t(buffer.value) >= graph.values.size())
        return where + "no value of the graph";
      if (buffer.kind != BufferKind::Arena && !buffer.type.border.empty())
        return where + "a border outside the arena";
      if (buffer.kind == BufferKind::Constant) {
        const Value &value = graph.value(buffer.value);
        if (!value.isConstant() ||
            countOf(value.dims) != buffer.type.elementCount())
          return where + "not the constant it names";
      }
      written[i] = buffer.kind == BufferKind::Input ||
                   buffer.kind == BufferKind::Constant;
      if (buffer.aliasOf < 0)
        continue;
      if (!isBuffer(buffer.aliasOf))
        return where + "a view of nothing";
      const PlanBuffer &root = plan.buffers[size_t(buffer.aliasOf)];
      if (root.aliasOf >= 0 || root.kind != buffer.kind ||
          root.offset != buffer.offset ||
          root.type.sizeBytes() < buffer.type.sizeBytes())
        return where + "a view that does not fit its buffer";
      if (!root.type.border.empty() || !buffer.type.border.empty())
        return where + "a view with a border";
    }
    return {};
  }

  std::string checkPosition(const std::vector<int32_t> &buffers,
                            const std::vector<ValueId> &values,
                            BufferKind kind) const {
    if (buffers.size() != values.size())
      return "the signature has another length than the graph's";
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!isBuffer(buffers[i]))
        return name("signature ", i) + "no buffer";
      const PlanBuffer &buffer = plan.buffers[size_t(buffers[i])];
      const Value &value = graph.value(values[i]);
      BufferType type{.dtype = value.dtype, .dims = value.dims};
      if (buffer.kind != kind || buffer.index != int32_t(i) ||
          buffer.aliasOf >= 0 || buffer.type != type)
        return name("signature ", i) + "not the graph's value";
    }
    return {};
  }

  std::string checkSignature() {
    std::string broken =
        checkPosition(plan.inputs, graph.inputs, BufferKind::Input);
    return broken.empty()
               ? checkPosition(plan.outputs, graph.outputs, BufferKind::Output)
               : broken;
  }

  std::string checkTasks() {
    std::set<std::string> texts;
    for (size_t i = 0; i < plan.tasks.size(); ++i) {
      if (std::string broken = plan.tasks[i].verify(); !broken.empty())
        return name("task", i) + broken;
      if (!texts.insert(plan.tasks[i].text()).second)
        return name("task", i) + "appears twice";
    }
    return {};
  }

  std::string checkSteps() {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const PlanStep &step = plan.steps[i];
      std::string where = name("step", i);
      if (step.task < 0 || size_t(step.task) >= plan.tasks.size())
        return where + "no task";
      const Task &task = plan.tasks[size_t(step.task)];
      if (step.operands.size() != task.operands.size())
        return where + "another number of operands than its task";
      for (size_t j = 0; j < step.operands.size(); ++j) {
        if (!isBuffer(step.operands[j]))
          return where + "no buffer";
        const PlanBuffer &buffer = plan.buffers[size_t(step.operands[j])];
        if (buffer.type != task.operands[j].type ||
            (buffer.kind == BufferKind::Constant) !=
                task.operands[j].isConstant)
          return where + name("operand", j) + "not the task's type";
        bool isOutput = j + 1 == step.operands.size();
        size_t root = size_t(rootOf(plan, step.operands[j]));
        if (!isOutput && !written[root] && buffer.type.elementCount())
          return where + name("operand", j) + "read before it is written";
        if (isOutput && (buffer.kind == BufferKind::Input ||
                         buffer.kind == BufferKind::Constant))
          return where + "writes what it may only read";
        for (size_t k = 0; isOutput && k < j; ++k)
          if (size_t(rootOf(plan, step.operands[k])) == root)
            return where + "writes what it reads";
      }
      written[size_t(rootOf(plan, step.operands.back()))] = true;
    }
    for (size_t i = 0; i < plan.outputs.size(); ++i)
      if (!written[size_t(plan.outputs[i])] &&
          plan.buffers[size_t(plan.outputs[i])].type.elementCount())
        return name("output", i) + "never written";
    return {};
  }

  std::string checkChains() {
    int32_t next = 0;
    for (const PlanChain &chain : plan.chains) {
      if (chain.first < next || chain.count < 2 ||
          size_t(chain.first) + size_t(chain.count) > plan.steps.size())
        return "a chain of no steps, or of another's";
      next = chain.first + chain.count;
    }
    return {};
  }

  std::string checkArena() {
    std::vector<Lifetime> lifetimes = lifetimesOf(plan);
    std::vector<size_t> arena;
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (plan.buffers[i].kind == BufferKind::Arena &&
          plan.buffers[i].aliasOf < 0)
        arena.push_back(i);
    for (size_t i : arena) {
      const PlanBuffer &a = plan.buffers[i];
      int64_t end = a.offset + a.type.sizeBytes();
      if (a.offset < 0 || a.offset % 64 != 0 || end > plan.arenaBytes)
        return name("buffer", i) + "misplaced in the arena";
      for (size_t j : arena) {
        const PlanBuffer &b = plan.buffers[j];
        if (j >= i || a.offset >= b.offset + b.type.sizeBytes() ||
            b.offset >= end)
          continue;
        if (lifetimes[i].overlaps(lifetimes[j]))
          return name("buffer", i) + "overlaps the live buffer" +
                 std::to_string(j);
        auto keepsBorder = [](const PlanBuffer &buffer) {
          return !buffer.type.border.empty() && !buffer.borderEveryRun;
        };
        if ((keepsBorder(a) || keepsBorder(b)) &&
            (a.type != b.type || a.offset != b.offset))
          return name("buffer", i) + "destroys a border of buffer" +
                 std::to_string(j);
      }
    }
    return {};
  }

  const Plan &plan;
  const Graph &graph;
  std::vector<bool> written; ///< per buffer, as the steps go
};

} // namespace

std::string verifyPlan(const Plan &plan, const Graph &graph) {
  return PlanVerifier(plan, graph).run();
}

} // namespace tlm
