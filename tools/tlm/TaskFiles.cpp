#include "TaskFiles.h"

#include "base/AtomicFile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>

namespace tlm {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTaskExtension = ".task";

Result<Task> readTask(const fs::path &path) {
  TLM_TRY(std::string text, readWholeFile(path));
  Result<Task> task = parseTask(text);
  if (!task)
    return makeError(path.string() + ": " + task.error().message);
  return task;
}

Result<std::vector<Task>> tasksOfModel(const std::string &path,
                                       const CompileFlags &flags) {
  TLM_TRY(CompileOptions options, flags.options(path));
  options.stopAfter = Phase::Partition;
  TLM_TRY(Compilation compilation, compileModel(options));
  return std::move(compilation.plan.tasks);
}

/// Models and task texts of a folder, sorted; of a file, itself.
std::vector<fs::path> filesOf(const std::string &path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, ignored))
    if (fs::path extension = entry.path().extension();
        extension == ".onnx" || extension == kTaskExtension)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

void addTaskPaths(CLI::App &app, std::vector<std::string> &paths,
                  CompileFlags &flags) {
  app.fallthrough();
  app.add_option("models", paths,
                 "models, task texts (*.task), folders of both")
      ->required();
  flags.add(app);
}

Result<std::vector<Task>> readTasks(const std::vector<std::string> &paths,
                                    const CompileFlags &flags,
                                    const GlobalOptions &global) {
  std::vector<Task> tasks;
  std::set<std::string> known;
  auto add = [&](Task task) {
    if (known.insert(task.text()).second)
      tasks.push_back(std::move(task));
  };
  for (const std::string &path : paths) {
    std::vector<fs::path> files = filesOf(path);
    if (files.empty())
      return makeError("'" + path + "' holds no models and no tasks");
    for (const fs::path &file : files) {
      if (file.extension() == kTaskExtension) {
        TLM_TRY(Task task, readTask(file));
        add(std::move(task));
        continue;
      }
      if (files.size() > 1 && global.verbosity > 0)
        note(global, file.string());
      TLM_TRY(std::vector<Task> all, tasksOfModel(file, flags));
      for (Task &task : all)
        add(std::move(task));
    }
  }
  return tasks;
}

Status writeTasks(const std::vector<Task> &tasks, const std::string &folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    return makeError("cannot make '" + folder + "': " + failure.message());
  for (const Task &task : tasks)
    TLM_TRY_STATUS(writeFileAtomically(
        fs::path(folder) / (task.key() + kTaskExtension), task.text()));
  return success();
}

} // namespace tlm
