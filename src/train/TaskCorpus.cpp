#include "train/TaskCorpus.h"

#include "base/AtomicFile.h"
#include "base/Hash.h"
#include "space/Space.h"
#include "train/TaskMutation.h"

#include <algorithm>
#include <filesystem>
#include <map>

using namespace tlm;

namespace {

/// How often a kind is drawn. Products and convolutions take a network's time
/// and have the large spaces.
uint64_t shareOf(TaskKind kind) {
  switch (kind) {
  case TaskKind::Conv:
    return 36;
  case TaskKind::MatMul:
    return 18;
  case TaskKind::Depthwise:
  case TaskKind::BatchMatMul:
  case TaskKind::Attention:
    return 10;
  case TaskKind::Softmax:
  case TaskKind::Normalize:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
  case TaskKind::Pointwise:
  case TaskKind::Copy:
    return 3;
  case TaskKind::GlobalPool:
  case TaskKind::Concat:
    return 2;
  case TaskKind::Compute: // as the graphs have them, see mutateTask
    return 0;
  }
  return 0;
}

constexpr std::string_view kFirstLine = "tlm-task ";

class CorpusMaker {
public:
  CorpusMaker(const HeldOutKeys &heldOut, const Target &target,
              const CorpusOptions &options)
      : heldOut(heldOut), target(target), options(options),
        random(options.seed) {}

  TaskCorpus run(const std::vector<Task> &graphs);

private:
  void take(const Task &task);
  bool isValidation(const std::string &key) const {
    return hash64(key) % 100 < uint64_t(options.validationPercent);
  }

  const HeldOutKeys &heldOut;
  const Target &target;
  const CorpusOptions &options;
  Random random;
  std::set<std::string> seen;
  TaskCorpus corpus;
};

} // namespace

void CorpusMaker::take(const Task &task) {
  if (!seen.insert(task.key()).second)
    return;
  if (heldOut.find(task)) {
    ++corpus.heldOut;
    return;
  }
  if (!Space(task, target).next({})) {
    ++corpus.undecided;
    return;
  }
  std::vector<std::string> keys = contractionKeys(task);
  if (keys.empty())
    keys.push_back(task.key());
  auto count = std::ranges::count_if(
      keys, [&](const std::string &key) { return isValidation(key); });
  if (count == 0)
    corpus.training.push_back(task);
  else if (size_t(count) == keys.size())
    corpus.validation.push_back(task);
  // An attention whose products stand on both sides is on none.
}

TaskCorpus CorpusMaker::run(const std::vector<Task> &graphs) {
  for (const Task &task : graphs)
    take(task);
  corpus.ofGraphs = int64_t(corpus.training.size());

  // Parents may be held out: their children have other contractions.
  std::map<TaskKind, std::vector<const Task *>> parents;
  uint64_t shares = 0;
  for (const Task &task : graphs) {
    std::vector<const Task *> &list = parents[task.kind];
    if (list.empty())
      shares += shareOf(task.kind);
    list.push_back(&task);
  }
  int64_t most = 40 * options.count + 1000;
  for (int64_t tries = 0; shares && tries < most &&
                          int64_t(corpus.training.size()) < options.count;
       ++tries) {
    uint64_t at = random.below(shares);
    auto kind = parents.begin();
    for (; at >= shareOf(kind->first); ++kind)
      at -= shareOf(kind->first);
    const Task *parent = kind->second[random.below(kind->second.size())];
    if (std::optional<Task> child = mutateTask(*parent, random))
      take(*child);
  }
  return std::move(corpus);
}

TaskCorpus tlm::makeTaskCorpus(const std::vector<Task> &graphs,
                               const HeldOutKeys &heldOut, const Target &target,
                               const CorpusOptions &options) {
  return CorpusMaker(heldOut, target, options).run(graphs);
}

static Status appendTasks(const std::string &path, std::vector<Task> &tasks) {
  TLM_TRY(auto text, readWholeFile(path));
  for (size_t begin = 0; begin < text.size() || begin == 0;) {
    size_t next = text.find("\n" + std::string(kFirstLine), begin);
    size_t end = next == text.npos ? text.size() : next + 1;
    Result<Task> task = parseTask(text.substr(begin, end - begin));
    if (!task)
      return makeError(path + ": task " + std::to_string(tasks.size() + 1) +
                           ": " + task.error().message,
                       task.error().hint);
    tasks.push_back(std::move(*task));
    begin = end;
  }
  return success();
}

Result<std::vector<Task>>
tlm::readTaskLists(const std::vector<std::string> &paths) {
  std::vector<Task> all;
  for (const std::string &path : paths) {
    std::vector<std::string> files = {path};
    std::error_code failure;
    if (std::filesystem::is_directory(path, failure)) {
      files.clear();
      for (std::filesystem::directory_iterator entry(path, failure), end;
           !failure && entry != end; entry.increment(failure))
        if (entry->path().extension() == ".task")
          files.push_back(entry->path().string());
      if (failure)
        return makeError(path + ": " + failure.message());
      std::ranges::sort(files);
    }
    for (const std::string &file : files) {
      std::vector<Task> tasks;
      TLM_TRY_STATUS(appendTasks(file, tasks));
      std::ranges::move(tasks, std::back_inserter(all));
    }
  }
  return all;
}

Status tlm::writeTaskList(const std::string &path,
                          const std::vector<Task> &tasks) {
  std::string text;
  for (const Task &task : tasks)
    text += task.text();
  return writeFileAtomically(path, text);
}
