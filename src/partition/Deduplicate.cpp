//===- Deduplicate.cpp ----------------------------------------------------===//

#include "partition/Deduplicate.h"

namespace tlm {

int32_t TaskTable::add(Task task) {
  auto [entry, isNew] = indices.emplace(task.text(), int32_t(tasks.size()));
  if (isNew)
    tasks.push_back(std::move(task));
  return entry->second;
}

} // namespace tlm
