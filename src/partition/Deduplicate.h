//===- Deduplicate.h - equal tasks once -------------------------*- C++ -*-===//

#ifndef TLM_PARTITION_DEDUPLICATE_H
#define TLM_PARTITION_DEDUPLICATE_H

#include "task/Task.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tlm {

/// A list of tasks, unique by text, in the order of their first appearance.
class TaskTable {
public:
  explicit TaskTable(std::vector<Task> &tasks) : tasks(tasks) {}

  /// Index of the task, added when it is new.
  int32_t add(Task task);

private:
  std::vector<Task> &tasks;
  std::unordered_map<std::string, int32_t> indices;
};

} // namespace tlm

#endif // TLM_PARTITION_DEDUPLICATE_H
