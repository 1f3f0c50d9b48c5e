//===- Partition.cpp - the list of steps ----------------------------------===//

#include "partition/BuildPlan.h"

namespace tlm {

Result<Plan> partition(const Graph &graph, const PartitionOptions &options) {
  TLM_TRY(std::vector<Group> groups, fuse(graph));
  Layouts layouts = chooseLayouts(graph, groups);
  Borders borders(graph, groups, layouts, options);
  TLM_TRY(Plan plan, buildPlan(graph, groups, layouts, borders));
  planMemory(plan, options.workers);
  return plan;
}

} // namespace tlm
