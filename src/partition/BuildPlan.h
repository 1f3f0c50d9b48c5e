//===- BuildPlan.h - groups to steps and buffers ----------------*- C++ -*-===//

#ifndef TLM_PARTITION_BUILDPLAN_H
#define TLM_PARTITION_BUILDPLAN_H

#include "partition/Borders.h"

namespace tlm {

/// Steps in the order of the groups, a Copy before the first step that needs
/// one. Arena offsets are left open.
Result<Plan> buildPlan(const Graph &graph, const std::vector<Group> &groups,
                       const Layouts &layouts, const Borders &borders);

} // namespace tlm

#endif // TLM_PARTITION_BUILDPLAN_H
