//===- TaskLoops.cpp ------------------------------------------------------===//

#include "lang/TaskLoops.h"

#include <numeric>

namespace tlm {
namespace {

constexpr int kNone = TaskLoops::kNone;

std::vector<int64_t> reductionsOf(const Task &task) {
  const std::vector<int64_t> &in = task.operands.front().type.dims;
  const Operand *weight = task.find(Role::Weight);
  switch (task.kind) {
  case TaskKind::Conv:
    return {weight->type.dims[1], task.windows[0].kernel,
            task.windows[1].kernel};
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return {task.windows[0].kernel, task.windows[1].kernel};
  case TaskKind::GlobalPool:
    return {in[2], in[3]};
  case TaskKind::MatMul:
    return {in[1]};
  case TaskKind::BatchMatMul:
    return {in[2]};
  case TaskKind::Softmax:
  case TaskKind::Normalize:
    return {in.back()};
  case TaskKind::Attention: {
    // Keys, and the depth of a query.
    const std::vector<int64_t> &k = task.operands[1].type.dims;
    return {k[k.size() - 2],
            in.size() == 4 ? in[3] : in.back() / task.attention.heads};
  }
  case TaskKind::Compute:
    return task.computation.reductions;
  case TaskKind::Pointwise:
  case TaskKind::Copy:
  case TaskKind::Concat:
    return {};
  }
  return {};
}

/// The loops behind the indices of the operand's first load.
std::vector<int> loadedLoops(const Computation &computation, int32_t operand,
                             size_t rank) {
  std::vector<int> loops(rank, kNone);
  for (const ScalarNode &node : computation.nodes) {
    if (node.op != Scalar::Load || node.index != operand)
      continue;
    for (size_t dim = 0; dim < rank; ++dim) {
      const ScalarNode &index = computation.nodes[size_t(node.arguments[dim])];
      if (index.op == Scalar::Loop)
        loops[dim] = index.index;
    }
    break;
  }
  return loops;
}

std::vector<int> attentionLoops(const Task &task, size_t operand, size_t rank) {
  constexpr int kBatch = 0, kQueries = 1, kKeys = 3, kDepth = 4;
  if (task.operands[operand].role == Role::Extra)
    return {kBatch, kNone, kQueries, kKeys};
  int positions = operand == 0 ? kQueries : kKeys;
  int depth = operand < 2 ? kDepth : kNone;
  if (rank == 4)
    return {kBatch, kNone, positions, depth};
  // Values have the output's channels where no head is shared.
  return {kBatch, positions, operand == 2 ? 2 : kNone};
}

std::vector<int> accessOf(const Task &task, size_t index) {
  const Operand &operand = task.operands[index];
  size_t rank = operand.type.dims.size();
  std::vector<int> each(rank);
  std::iota(each.begin(), each.end(), 0);
  if (operand.role == Role::Output)
    return each;
  int last = int(task.output().type.dims.size()) - 1;
  switch (task.kind) {
  case TaskKind::Conv:
    if (operand.role == Role::Weight)
      return {1, 4, 5, 6};
    break;
  case TaskKind::Depthwise:
    if (operand.role == Role::Weight)
      return {1, kNone, 4, 5};
    break;
  case TaskKind::MatMul:
    if (operand.role == Role::Input)
      return {0, 2};
    if (operand.role == Role::Weight)
      return task.transposedWeight ? std::vector{1, 2} : std::vector{2, 1};
    break;
  case TaskKind::BatchMatMul:
    if (operand.role == Role::Input && index == 0)
      return {0, 1, 3};
    if (operand.role == Role::Input)
      return task.transposedWeight ? std::vector{0, 2, 3}
                                   : std::vector{0, 3, 2};
    break;
  case TaskKind::GlobalPool:
    if (operand.role == Role::Input)
      return {0, 1, 4, 5};
    break;
  case TaskKind::Normalize:
    if (operand.role == Role::Weight || operand.role == Role::Bias)
      return {last};
    break;
  case TaskKind::Attention:
    return attentionLoops(task, index, rank);
  case TaskKind::Compute:
    return loadedLoops(task.computation, int32_t(index), rank);
  default:
    break;
  }
  if (operand.role == Role::Bias)
    return {1};
  if (task.kind == TaskKind::Conv &&
      (operand.role == Role::Input || operand.role == Role::InputScale))
    each[1] = 4;
  return each;
}

} // namespace

TaskLoops TaskLoops::of(const Task &task) {
  TaskLoops loops;
  loops.parallel = task.output().type.dims;
  loops.reductions = reductionsOf(task);
  for (size_t i = 0; i < task.operands.size(); ++i)
    loops.accesses.push_back(accessOf(task, i));
  return loops;
}

} // namespace tlm
