#include "NetworkTasks.h"

#include "TaskFiles.h"

#include <map>

namespace tlm {

Result<std::vector<NetworkTask>>
networkTasks(const std::vector<std::string> &paths, const CompileFlags &flags) {
  std::vector<NetworkTask> result;
  std::map<std::string, size_t> known;
  auto entryOf = [&](const Task &task) -> NetworkTask & {
    auto [place, isNew] = known.emplace(task.text(), result.size());
    if (isNew)
      result.push_back({task, std::vector<int64_t>(paths.size(), 0)});
    return result[place->second];
  };
  for (size_t p = 0; p < paths.size(); ++p) {
    if (!paths[p].ends_with(".onnx")) {
      TLM_TRY(std::vector<Task> tasks, readTasks({paths[p]}, flags, {}));
      for (const Task &task : tasks)
        ++entryOf(task).calls[p];
      continue;
    }
    TLM_TRY(CompileOptions options, flags.options(paths[p]));
    options.stopAfter = Phase::Partition;
    TLM_TRY(Compilation compilation, compileModel(options));
    for (const PlanStep &step : compilation.plan.steps)
      ++entryOf(compilation.plan.tasks[size_t(step.task)]).calls[p];
  }
  return result;
}

} // namespace tlm
