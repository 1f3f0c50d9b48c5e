//===- LangCommand.cpp - tlm lang -----------------------------------------===//

#include "Report.h"
#include "Statistics.h"
#include "TaskFiles.h"
#include "lang/Answer.h"
#include "lang/AnswerCursor.h"
#include "lang/Sentence.h"
#include "space/ScheduleChecker.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

namespace tlm {
namespace {

struct Options {
  std::vector<std::string> paths;
  CompileFlags compile;
  int64_t kernel = -1;
  bool numbers = false;
  int64_t samples = 4;
  uint64_t seed = 1;
};

/// The prompt with an answer behind it.
Result<std::vector<Token>> sentenceOf(const Task &task, const Space &space,
                                      const Hardware &hardware,
                                      const Schedule &schedule) {
  std::vector<Token> tokens = prompt(hardware, task, Quality());
  TLM_TRY(std::vector<Token> choices, answer(space, schedule));
  tokens.insert(tokens.end(), choices.begin(), choices.end());
  return tokens;
}

std::string numbersText(const std::vector<Token> &tokens) {
  std::string text;
  for (Token token : tokens)
    text += std::to_string(token) + ' ';
  text.back() = '\n';
  return text;
}

Status show(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  TLM_TRY(std::vector<Task> tasks,
          readTasks(options.paths, options.compile, global));
  if (options.kernel >= int64_t(tasks.size()))
    return makeError("--kernel " + std::to_string(options.kernel) +
                         ": there are " + std::to_string(tasks.size()) +
                         " tasks, counted from 0",
                     {}, ErrorCode::Usage);
  Hardware hardware = Hardware::of(compile.target);
  nlohmann::json report = newReport("lang show"),
                 list = nlohmann::json::array();
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (options.kernel >= 0 && size_t(options.kernel) != i)
      continue;
    const Task &task = tasks[i];
    Space space(task, compile.target, compile.schedule);
    const Schedule *given =
        compile.scheduleFile ? compile.scheduleFile->find(task.key()) : nullptr;
    if (given)
      TLM_TRY_STATUS(compile.scheduleFile->check(task.key(), space));
    Schedule schedule =
        given ? *given
              : defaultSchedule(task, compile.target, compile.schedule);
    TLM_TRY(std::vector<Token> tokens,
            sentenceOf(task, space, hardware, schedule));
    std::printf("# %zu  %s  %s  %zu tokens, answer by %s\n%s", i,
                task.key().c_str(), task.label().c_str(), tokens.size(),
                given ? "--schedule-from" : "default rules",
                options.numbers ? numbersText(tokens).c_str()
                                : sentenceText(tokens).c_str());
    list.push_back({{"key", task.key()},
                    {"label", task.label()},
                    {"tokens", tokens},
                    {"text", wordsText(tokens)}});
  }
  report["sentences"] = list;
  return writeReport(report, global.jsonPath);
}

/// Lengths and words of sentences, and how many were not read back.
class SentenceCount {
public:
  void addPrompt(const Task &task, const Hardware &hardware, bool decides) {
    std::vector<Token> tokens = prompt(hardware, task, Quality());
    use(tokens);
    ++prompts;
    (decides ? deciding : others).push_back(double(tokens.size()));
    Result<Prompt> back = parsePrompt(tokens);
    if (!back)
      complain(task, back.error().message);
    else if (back->task.text() != task.text() || back->hardware != hardware)
      complain(task, "its prompt reads as another");
  }

  void addAnswer(const Task &task, const Space &space,
                 const Schedule &schedule) {
    ++answers;
    Result<std::vector<Token>> tokens = answer(space, schedule);
    if (!tokens)
      return complain(task, tokens.error().message);
    use(*tokens);
    if (tokens->size() > 1)
      lengths.push_back(double(tokens->size()));
    Result<Schedule> back = parseAnswer(space, *tokens);
    if (!back)
      complain(task, back.error().message);
    else if (*back != schedule)
      complain(task, "an answer reads as another");
  }

  /// Every choice on a random path must have a word of its own, and the path
  /// must end at a schedule that the independent checker takes.
  void addPath(const Task &task, const Target &target, const Space &space,
               Random &random) {
    AnswerCursor cursor(space);
    while (!cursor.done()) {
      std::span<const int32_t> allowed = cursor.allowed();
      std::set<Token> distinct(allowed.begin(), allowed.end());
      if (cursor.point()) {
        choices += int64_t(distinct.size());
        if (distinct.size() != cursor.point()->choices.size())
          complain(task, "two choices of one word, or one without");
      }
      cursor.take(allowed[random.below(allowed.size())]);
    }
    ++paths;
    if (std::string wrong = checkSchedule(task, target, cursor.schedule());
        !wrong.empty())
      complain(task, wrong);
  }

  Status print(nlohmann::json &report) const {
    const Vocabulary &vocabulary = Vocabulary::get();
    std::printf("%lld prompts, %zu of them with something to decide\n",
                static_cast<long long>(prompts), deciding.size());
    printRow("prompt", deciding, report["prompt"]);
    printRow("prompt without a decision", others, report["prompt_undecided"]);
    printRow("answer, with [EOS]", lengths, report["answer"]);
    auto words = std::count(used.begin(), used.end(), true);
    std::printf("vocabulary: %zu words, hash %s; %lld met here\n",
                vocabulary.size(), vocabulary.hash().c_str(),
                static_cast<long long>(words));
    report["vocabulary"] = {{"words", vocabulary.size()},
                            {"hash", vocabulary.hash()},
                            {"met", words}};
    report["prompts"] = prompts;
    report["answers"] = answers;
    report["choices"] = choices;
    report["paths"] = paths;
    report["broken"] = broken;
    std::printf(
        "lang stats: %s, %lld prompts and %lld answers read back, "
        "%lld choices with words of their own, %lld random answers legal, "
        "%lld broken\n",
        broken ? "FAILED" : "OK", static_cast<long long>(prompts),
        static_cast<long long>(answers), static_cast<long long>(choices),
        static_cast<long long>(paths), static_cast<long long>(broken));
    return broken ? Status(makeError("sentences that do not read back", {},
                                     ErrorCode::Mismatch))
                  : success();
  }

private:
  void use(const std::vector<Token> &tokens) {
    for (Token token : tokens)
      used[size_t(token)] = true;
  }

  void complain(const Task &task, const std::string &what) {
    if (++broken <= 10)
      std::printf("%s: %s\n%s", task.label().c_str(), what.c_str(),
                  task.text().c_str());
  }

  static void printRow(const char *name, const std::vector<double> &lengths,
                       nlohmann::json &row) {
    if (lengths.empty())
      return;
    Statistics statistics = summarise(lengths, {95});
    std::printf("  %-26s %4.0f min %6.1f median %6.1f mean %6.1f 95 %% %5.0f "
                "max tokens\n",
                name, statistics.min, statistics.median, statistics.mean,
                statistics.percentiles[0], statistics.max);
    row = {{"count", lengths.size()},          {"min", statistics.min},
           {"median", statistics.median},      {"mean", statistics.mean},
           {"p95", statistics.percentiles[0]}, {"max", statistics.max}};
  }

  int64_t prompts = 0, answers = 0, choices = 0, paths = 0, broken = 0;
  std::vector<double> deciding, others, lengths;
  std::vector<bool> used = std::vector<bool>(Vocabulary::get().size());
};

Status stats(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  TLM_TRY(std::vector<Task> tasks,
          readTasks(options.paths, options.compile, global));
  Hardware hardware = Hardware::of(compile.target);
  Random random(options.seed);
  SentenceCount count;
  for (const Task &task : tasks) {
    Space space(task, compile.target, compile.schedule);
    count.addPrompt(task, hardware, space.next({}).has_value());
    count.addAnswer(task, space,
                    defaultSchedule(task, compile.target, compile.schedule));
    for (int64_t i = 0; i < options.samples; ++i) {
      count.addAnswer(task, space, space.sample(random));
      count.addPath(task, compile.target, space, random);
    }
  }
  nlohmann::json report = newReport("lang stats");
  Status status = count.print(report);
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  return status;
}

} // namespace

Action addLang(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App *shown = app.add_subcommand(
      "show", "the sentence of every task: what the model reads, and the "
              "default schedule as its answer");
  addTaskPaths(*shown, options->paths, options->compile);
  shown
      ->add_option("--kernel", options->kernel,
                   "only this task, counted from 0")
      ->check(CLI::NonNegativeNumber);
  shown->add_flag("--numbers", options->numbers, "token numbers, not words");
  CLI::App *counted = app.add_subcommand(
      "stats", "lengths of sentences, all of which are read back");
  addTaskPaths(*counted, options->paths, options->compile);
  counted
      ->add_option("--samples", options->samples,
                   "random schedules of each task")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 30))
      ->capture_default_str();
  counted->add_option("--seed", options->seed, "of the samples")
      ->capture_default_str();
  return [options, counted, &global] {
    return counted->parsed() ? stats(*options, global) : show(*options, global);
  };
}

} // namespace tlm
