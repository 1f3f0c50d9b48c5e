//===- SentencesTool.cpp - tlm-sentences: data for tlm-train --------------===//

#include "base/AtomicFile.h"
#include "lang/Vocabulary.h"
#include "train/RecordSentences.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace tlm;

namespace {

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return int(error.code);
}

struct Flags {
  std::string path, store, mcpu = "host";
  std::vector<std::string> tasks;
  int64_t answers = 48, threads = 0, group = 0;
  uint64_t seed = 1;
  SentenceOptions options;
};

Result<std::vector<Task>> readTaskFiles(const std::vector<std::string> &paths) {
  std::vector<Task> tasks;
  for (const std::string &path : paths) {
    TLM_TRY(auto text, readWholeFile(path));
    Result<Task> task = parseTask(text);
    if (!task)
      return makeError(path + ": " + task.error().message, task.error().hint);
    tasks.push_back(std::move(*task));
  }
  return tasks;
}

Status writeSet(const std::string &path, const SentenceSet &set) {
  if (set.groups.empty())
    return makeError(path + ": not written: there are no sentences");
  TLM_TRY_STATUS(writeSentences(path, vocabularyIdOfLanguage(),
                                int64_t(Vocabulary::get().size()), set.groups));
  int64_t tokens = 0;
  for (const SentenceGroup &group : set.groups) {
    tokens += int64_t(group.prompt.size());
    for (const Branch &branch : group.branches)
      tokens += int64_t(branch.tokens.size());
  }
  std::printf("%zu groups, %lld answers, %lld tokens; %lld schedules are not "
              "legal here\n",
              set.groups.size(), static_cast<long long>(set.schedules),
              static_cast<long long>(tokens),
              static_cast<long long>(set.notLegal));
  return success();
}

Status writeRandom(const Flags &flags) {
  TLM_TRY(auto target, targetFor(flags.mcpu));
  if (flags.threads > 0)
    target.threads = flags.threads;
  TLM_TRY(auto tasks, readTaskFiles(flags.tasks));
  Random random(flags.seed);
  SentenceSet set;
  for (const Task &task : tasks) {
    Space space(task, target);
    set.append(sentencesOf(
        Hardware::of(target), task, space,
        randomSchedules(task, target, space, flags.answers, {}, random),
        flags.options, random));
  }
  return writeSet(flags.path, set);
}

Status writeRecords(const Flags &flags) {
  TLM_TRY(auto store, Store::open(flags.store, Store::Access::Read));
  TLM_TRY(auto tasks, readTaskFiles(flags.tasks));
  std::set<std::string> keys;
  for (const Task &task : tasks)
    keys.insert(task.key());
  TLM_TRY(auto result, sentencesOfRecords(store, flags.options, flags.seed,
                                          [&](const Task &task) {
                                            return keys.empty() ||
                                                   keys.count(task.key());
                                          }));
  std::printf("%lld tasks on their targets, %lld with too few candidates to "
              "know a quality; %lld tasks and targets are not understood\n",
              static_cast<long long>(result.tasks),
              static_cast<long long>(result.withoutQuality),
              static_cast<long long>(result.unreadable));
  return writeSet(flags.path, result.set);
}

Status show(const Flags &flags) {
  TLM_TRY(auto file, SentenceFile::open(flags.path));
  if (flags.group < 0 || flags.group >= file.size())
    return makeError("there is no group " + std::to_string(flags.group) +
                         "; the file has " + std::to_string(file.size()),
                     {}, ErrorCode::Usage);
  SentenceGroup group = file.group(flags.group);
  std::printf("%s\n", wordsText(group.prompt).c_str());
  for (const Branch &branch : group.branches)
    std::printf("  %s\n", wordsText(branch.tokens).c_str());
  return success();
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Writes the sentences that tlm-train learns from.",
               "tlm-sentences");
  app.require_subcommand(1);
  Flags flags;
  CLI::App *random = app.add_subcommand("random", "random legal schedules");
  CLI::App *records = app.add_subcommand("records", "measured schedules");
  CLI::App *shown = app.add_subcommand("show", "prints a group as words");
  for (CLI::App *command : {random, records}) {
    command->add_option("-o,--out", flags.path, "file to write")->required();
    command
        ->add_option("--branches", flags.options.branches,
                     "answers behind one prompt, at most")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command
        ->add_option("--judged", flags.options.judgedPercent,
                     "percent of the answers that are to be judged")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command
        ->add_option("--hidden", flags.options.hiddenPercent,
                     "percent of the machine's facts that are left out")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command->add_option("--seed", flags.seed)->capture_default_str();
  }
  random->add_option("tasks", flags.tasks, "task texts")->required();
  random->add_option("--answers", flags.answers, "of a task, at most")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  random->add_option("--mcpu", flags.mcpu)->capture_default_str();
  random->add_option("--threads", flags.threads, "0: those of this machine");
  records->add_option("store", flags.store, "store of records")->required();
  records->add_option("--tasks", flags.tasks, "of these task texts only");
  shown->add_option("file", flags.path)->required();
  shown->add_option("--group", flags.group)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : int(ErrorCode::Usage);
  }
  Status done = *random    ? writeRandom(flags)
                : *records ? writeRecords(flags)
                           : show(flags);
  return done.ok() ? 0 : fail(done.error());
}
