//===- TaskMutation.h - a task with other extents ---------------*- C++ -*-===//
//
// A network has few shapes; a model is to choose well for all. A mutated task
// has other extents (batch, channels, image and sequence sizes, heads) and the
// same form: kind, windows, groups or none, layouts, epilogue, which operands
// broadcast, which extents are equal. Sizes that networks have are likelier
// than others: multiples of 8, halves and doubles.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_TASKMUTATION_H
#define TLM_TRAIN_TASKMUTATION_H

#include "base/Random.h"
#include "task/Task.h"

#include <optional>

namespace tlm {

/// Beyond these a task is left out: nobody waits for it in a kernel.
inline constexpr double kMostFlops = 2e10, kMostBytes = 5e8;

/// A task that verifies; nothing where the draw gave none, or where the form
/// holds numbers that follow from extents (Compute).
std::optional<Task> mutateTask(const Task &task, Random &random);

} // namespace tlm

#endif // TLM_TRAIN_TASKMUTATION_H
