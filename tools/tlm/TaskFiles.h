//===- TaskFiles.h - the tasks of models and of task texts ------*- C++ -*-===//

#ifndef TLM_TOOLS_TASKFILES_H
#define TLM_TOOLS_TASKFILES_H

#include "Flags.h"
#include "task/Task.h"

#include <string>
#include <vector>

namespace tlm {

/// The arguments of a command about tasks: `paths`, and how they are compiled.
void addTaskPaths(CLI::App &app, std::vector<std::string> &paths,
                  CompileFlags &flags);

/// The distinct tasks of `paths`, in their order. A path is a model, which is
/// compiled up to its partition, a task text (*.task), or a folder of both.
Result<std::vector<Task>> readTasks(const std::vector<std::string> &paths,
                                    const CompileFlags &flags,
                                    const GlobalOptions &global);

/// One file a task, named by its key, in a folder that is made.
Status writeTasks(const std::vector<Task> &tasks, const std::string &folder);

} // namespace tlm

#endif // TLM_TOOLS_TASKFILES_H
