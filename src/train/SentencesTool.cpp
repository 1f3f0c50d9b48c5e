//===- SentencesTool.cpp - tlm-sentences: data for tlm-train --------------===//

#include "lang/Sentence.h"
#include "space/Variation.h"
#include "train/EstimateRanks.h"
#include "train/LearnedEstimate.h"
#include "train/RecordSentences.h"
#include "train/TaskCorpus.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace tlm;

namespace {

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return int(error.code);
}

struct Flags {
  std::string path, store, heldOut;
  std::vector<std::string> tasks, heldOutTasks, recordsOf, mcpu = {"host"};
  std::set<std::string> distrusted;
  std::vector<int64_t> threads;
  int64_t answers = 48, group = 0, folds = 0;
  uint64_t seed = 1;
  double mostFlops = HUGE_VAL;
  int64_t leastSchedules = 1;
  SentenceOptions options;
  CorpusOptions corpus;
};

long long number(int64_t value) { return static_cast<long long>(value); }

/// No keys without --held-out.
Result<HeldOutKeys> readHeldOut(const Flags &flags) {
  return flags.heldOut.empty() ? HeldOutKeys()
                               : HeldOutKeys::read(flags.heldOut);
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

/// Every CPU with every number of threads.
Result<std::vector<Target>> readTargets(const Flags &flags) {
  std::vector<Target> targets;
  for (const std::string &cpu : flags.mcpu) {
    TLM_TRY(auto target, targetFor(cpu));
    if (flags.threads.empty())
      targets.push_back(target);
    for (int64_t threads : flags.threads) {
      target.threads = threads;
      targets.push_back(target);
    }
  }
  return targets;
}

/// Answers of every bucket, as text.
std::string bucketsText(const std::vector<int64_t> &counts) {
  std::string text;
  for (size_t bucket = 0; bucket < counts.size(); ++bucket)
    text += (bucket ? "  " : "") + neededQualityWords()[bucket] + ' ' +
            std::to_string(counts[bucket]);
  return text;
}

Result<std::set<std::string>> keysOf(const std::vector<std::string> &paths) {
  TLM_TRY(auto tasks, readTaskLists(paths));
  std::set<std::string> keys;
  for (const Task &task : tasks)
    keys.insert(task.key());
  return keys;
}

/// No keys stand for all tasks.
bool isAmong(const std::set<std::string> &keys, const Task &task) {
  return keys.empty() || keys.contains(task.key());
}

Status writeRandom(const Flags &flags) {
  TLM_TRY(auto targets, readTargets(flags));
  TLM_TRY(auto tasks, readTaskLists(flags.tasks));
  TLM_TRY(auto heldOut, readHeldOut(flags));
  TLM_TRY_STATUS(refuseHeldOut(heldOut, tasks));
  EstimateOfTask estimateOf = arithmeticEstimate;
  LearnedEstimate learned;
  if (!flags.store.empty()) {
    TLM_TRY(auto store, Store::open(flags.store, Store::Access::Read));
    TLM_TRY(learned, LearnedEstimate::fit(store, [&](const Task &task) {
              return !heldOut.find(task);
            }));
    estimateOf = [&](const Task &task, const Target &target) {
      return learned.of(task, target);
    };
    std::printf("labels learnt from %lld candidates of %lld tasks\n",
                number(learned.candidates()), number(learned.tasks()));
  }
  Random random(flags.seed);
  SentenceSet set;
  std::vector<int64_t> buckets(kQualityBuckets);
  for (const Task &task : tasks) {
    const Target &target = targets[random.below(targets.size())];
    Space space(task, target);
    std::vector<LabelledSchedule> schedules = randomSchedules(
        task, target, space, flags.answers, estimateOf(task, target), random);
    for (const LabelledSchedule &labelled : schedules)
      ++buckets[size_t(*labelled.quality)];
    set.append(sentencesOf(Hardware::of(target), task, space, schedules,
                           flags.options, random));
  }
  std::printf("%zu tasks on %zu machines; %s\n", tasks.size(), targets.size(),
              bucketsText(buckets).c_str());
  return writeSet(flags.path, set);
}

Status writeRecords(const Flags &flags) {
  TLM_TRY(auto store, Store::open(flags.store, Store::Access::Read));
  TLM_TRY(auto keys, keysOf(flags.tasks));
  TLM_TRY(auto heldOut, readHeldOut(flags));
  int64_t leftOut = 0;
  auto wanted = [&](const Task &task) {
    if (!isAmong(keys, task))
      return false;
    bool held = heldOut.find(task);
    leftOut += held;
    return !held;
  };
  TLM_TRY(auto result,
          sentencesOfRecords(store, flags.options, flags.seed, wanted));
  std::printf("%lld tasks on their targets, %lld with too few candidates to "
              "know a quality; %lld tasks and targets are not understood; "
              "%lld tasks are held out\n",
              number(result.tasks), number(result.withoutQuality),
              number(result.unreadable), number(leftOut));
  return writeSet(flags.path, result.set);
}

Status writeCorpus(const Flags &flags) {
  TLM_TRY(auto targets, readTargets(flags));
  TLM_TRY(auto graphs, readTaskLists(flags.tasks));
  TLM_TRY(auto judged, readTaskLists(flags.heldOutTasks));
  HeldOutKeys heldOut;
  for (const Task &task : judged)
    heldOut.add(task);
  TaskCorpus corpus =
      makeTaskCorpus(graphs, heldOut, targets.front(), flags.corpus);
  TLM_TRY_STATUS(refuseHeldOut(heldOut, corpus.training));
  TLM_TRY_STATUS(refuseHeldOut(heldOut, corpus.validation));
  std::error_code failure;
  std::filesystem::create_directories(flags.path, failure);
  if (failure)
    return makeError(flags.path + ": " + failure.message());
  std::string folder = flags.path + '/';
  TLM_TRY_STATUS(heldOut.write(folder + "held-out.keys"));
  TLM_TRY_STATUS(writeTaskList(folder + "test.tasks", judged));
  TLM_TRY_STATUS(writeTaskList(folder + "validation.tasks", corpus.validation));
  TLM_TRY_STATUS(writeTaskList(folder + "training.tasks", corpus.training));
  std::printf("%zu tasks to train on, %lld of them of graphs; %zu to validate, "
              "%zu to test; %zu contractions are held out, and with them %lld "
              "tasks\n",
              corpus.training.size(), number(corpus.ofGraphs),
              corpus.validation.size(), judged.size(), heldOut.size(),
              number(corpus.heldOut));
  if (int64_t(corpus.training.size()) < flags.corpus.count)
    return makeError(
        "the graphs give " + std::to_string(corpus.training.size()) +
            " tasks; wanted: " + std::to_string(flags.corpus.count),
        "more graphs, or a smaller --count");
  return success();
}

bool hasSchedules(const Space &space, int64_t count) {
  KnownLeaves known;
  Random random(1);
  std::vector<Schedule> drawn;
  while (int64_t(drawn.size()) < count && known.drawNew(space, random, drawn))
    ;
  return int64_t(drawn.size()) == count;
}

/// Those that may be trained on and are worth measuring, in their order.
Status listTasks(const Flags &flags) {
  TLM_TRY(auto targets, readTargets(flags));
  TLM_TRY(auto tasks, readTaskLists(flags.tasks));
  TLM_TRY(auto heldOut, readHeldOut(flags));
  std::set<std::string> seen;
  for (const Task &task : tasks) {
    std::string key = task.key();
    if (heldOut.find(task) || task.flops() > flags.mostFlops ||
        !hasSchedules(Space(task, targets.front()), flags.leastSchedules) ||
        !seen.insert(key).second)
      continue;
    nlohmann::json row = {{"key", key},
                          {"kind", nameOf(task.kind)},
                          {"flops", task.flops()},
                          {"text", task.text()}};
    std::printf("%s\n", row.dump().c_str());
  }
  return success();
}

/// What is in the file, whatever made it.
Status check(const Flags &flags) {
  TLM_TRY(auto file, SentenceFile::open(flags.path));
  TLM_TRY(auto heldOut, HeldOutKeys::read(flags.heldOut));
  std::vector<std::string> shapes;
  int64_t answers = 0;
  for (int64_t i = 0; i < file.size(); ++i) {
    SentenceGroup group = file.group(i);
    TokenReader reader(group.prompt);
    TLM_TRY_STATUS(readHardware(reader));
    TLM_TRY(auto task, readTask(reader));
    TLM_TRY_STATUS(refuseHeldOut(heldOut, {task}));
    shapes.push_back(task.key());
    answers += int64_t(group.branches.size());
  }
  std::ranges::sort(shapes);
  auto end = std::ranges::unique(shapes).begin();
  std::printf(
      "check: OK, %lld answers over %lld tasks, none of which holds one "
      "of %zu held-out contractions\n",
      number(answers), number(end - shapes.begin()), heldOut.size());
  return success();
}

void printRanks(const char *name, const RankSums &sums) {
  double tasks = double(sums.tasks);
  std::printf("%-14s %6lld %11lld %12.1f %10.2f %10.3f\n", name,
              number(sums.tasks), number(sums.candidates),
              100 * double(sums.rightPairs) / std::max(1.0, double(sums.pairs)),
              sums.spearman / tasks, std::exp(sums.logLoss / tasks));
}

void printRanks(const RanksByKind &ranks) {
  std::printf("%-14s %6s %11s %12s %10s %10s\n", "kind", "tasks", "candidates",
              "pairs right%", "spearman", "first/best");
  RankSums all;
  for (const auto &[kind, sums] : ranks) {
    printRanks(std::string(nameOf(kind)).c_str(), sums);
    all += sums;
  }
  printRanks("all", all);
}

Status estimate(const Flags &flags) {
  TLM_TRY(auto store, Store::open(flags.store, Store::Access::Read));
  auto all = [](const Task &) { return true; };
  TLM_TRY(auto ranks, estimateRanks(store, arithmeticEstimate, all));
  if (ranks.empty())
    return makeError(flags.store + ": no task has " +
                         std::to_string(kCandidatesForQuality) +
                         " timed candidates of this version of the compiler",
                     "tlm collect measures some");
  std::printf("by arithmetic:\n");
  printRanks(ranks);
  if (flags.folds) {
    TLM_TRY(auto learned, learnedRanks(store, flags.folds, all));
    std::printf("learnt, each of %lld parts from the others:\n",
                number(flags.folds));
    printRanks(learned);
  }
  return success();
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
  CLI::App *corpus = app.add_subcommand(
      "corpus", "tasks to train on: of graphs, and with other extents");
  CLI::App *listed = app.add_subcommand(
      "tasks", "those that may be trained on, a line of JSON each");
  CLI::App *checked = app.add_subcommand(
      "check", "fails when there is a held-out contraction in a file");
  CLI::App *ranked = app.add_subcommand(
      "estimate", "how the labels of random schedules order measured ones");
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
  for (CLI::App *command : {random, records, listed})
    command->add_option("--held-out", flags.heldOut,
                        "keys of contractions that may not be trained on");
  for (CLI::App *command : {random, listed})
    command->add_option("tasks", flags.tasks, "task texts, folders of them")
        ->required();
  random->add_option("--answers", flags.answers, "of a task, at most")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  random->add_option(
      "--records", flags.store,
      "learn from this store how good a schedule is; else by arithmetic");
  random->add_option("--distrust", flags.distrusted,
                     "builds whose records count less");
  random->add_option("--records-of", flags.recordsOf,
                     "learn from the records of these task texts only");
  listed->add_option("--most-flops", flags.mostFlops, "of a task")
      ->check(CLI::PositiveNumber);
  listed->add_option("--least-schedules", flags.leastSchedules, "of a task")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  for (CLI::App *command : {random, corpus, listed}) {
    command
        ->add_option("--mcpu", flags.mcpu, "CPUs, of which each task draws one")
        ->capture_default_str();
    command
        ->add_option("--threads", flags.threads,
                     "numbers of threads, of which each task draws one; else "
                     "those of this machine")
        ->check(CLI::Range(1, 4096));
  }
  records->add_option("store", flags.store, "store of records")->required();
  records->add_option("--tasks", flags.tasks, "of these task texts only");
  corpus->add_option("tasks", flags.tasks, "of the graphs to train on")
      ->required();
  corpus
      ->add_option("--judged-by", flags.heldOutTasks,
                   "tasks whose contractions are held out")
      ->required();
  corpus->add_option("-o,--out", flags.path, "folder to write")->required();
  corpus->add_option("--count", flags.corpus.count, "of tasks to train on")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  corpus->add_option("--seed", flags.corpus.seed)->capture_default_str();
  corpus
      ->add_option("--validation", flags.corpus.validationPercent,
                   "percent of the contractions to validate with")
      ->check(CLI::Range(0, 50))
      ->capture_default_str();
  checked->add_option("file", flags.path, "sentences")->required();
  checked->add_option("--held-out", flags.heldOut, "keys of contractions")
      ->required();
  ranked->add_option("store", flags.store, "store of records")->required();
  ranked
      ->add_option("--folds", flags.folds,
                   "also labels that are learnt from records, cross-validated "
                   "by contraction in so many parts")
      ->check(CLI::Range(2, 100));
  shown->add_option("file", flags.path)->required();
  shown->add_option("--group", flags.group)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : int(ErrorCode::Usage);
  }
  Status done = *random    ? writeRandom(flags)
                : *records ? writeRecords(flags)
                : *corpus  ? writeCorpus(flags)
                : *listed  ? listTasks(flags)
                : *checked ? check(flags)
                : *ranked  ? estimate(flags)
                           : show(flags);
  return done.ok() ? 0 : fail(done.error());
}
