//===- NetworkTasks.h - the tasks of models, and how often they run -*- C++
//-*-//

#ifndef TLM_TOOLS_NETWORKTASKS_H
#define TLM_TOOLS_NETWORKTASKS_H

#include "Flags.h"

#include <string>
#include <vector>

namespace tlm {

struct NetworkTask {
  Task task;
  /// Steps of each path that are this task, in the order of the paths.
  std::vector<int64_t> calls;
};

/// The distinct tasks of `paths`, models and task texts (*.task, one call), in
/// their order.
Result<std::vector<NetworkTask>>
networkTasks(const std::vector<std::string> &paths, const CompileFlags &flags);

} // namespace tlm

#endif // TLM_TOOLS_NETWORKTASKS_H
