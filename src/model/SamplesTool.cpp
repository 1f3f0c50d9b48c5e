// tlm-samples [TASK ...]: whether everything that a model may write is legal.
//
// A test tool: decodes schedules of the tasks (task texts; without any, those
// of the tests of space/) under the mask, in batches with shared prompts, and
// has each judged by the independent checker, which knows neither space/ nor
// lang/. Weights drawn at random are the hardest case: they respect nothing.

#include "base/AtomicFile.h"
#include "lang/Answer.h"
#include "lang/AnswerCursor.h"
#include "lang/Sentence.h"
#include "model/Inference.h"
#include "space/ScheduleChecker.h"
#include "space/SpaceTestTasks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <set>
#include <thread>

using namespace tlm;

namespace {

struct Flags {
  std::vector<std::string> tasks;
  std::string model, mcpu = "host";
  int64_t count = 10000, round = 64;
  float temperature = 1.5f;
  uint64_t seed = 1;
  int threads = int(std::max(1u, std::thread::hardware_concurrency()));
};

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return int(error.code);
}

Result<std::vector<Task>> tasksOf(const Flags &flags) {
  if (flags.tasks.empty())
    return spaceTestTasks();
  std::vector<Task> tasks;
  for (const std::string &path : flags.tasks) {
    TLM_TRY(auto text, readWholeFile(path));
    TLM_TRY(auto task, parseTask(text));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<LanguageModel> modelOf(const Flags &flags) {
  if (!flags.model.empty())
    return LanguageModel::load(flags.model, &Vocabulary::get());
  ModelConfig config;
  config.layers = 2;
  config.heads = 2;
  config.width = 64;
  config.positions = 512;
  config.vocabulary = int64_t(Vocabulary::get().size());
  GptParameters parameters = randomParameters(config, flags.seed);
  for (float &value : parameters.tokens)
    value *= 10; // clear preferences, which have nothing to do with legality
  return LanguageModel(config, parameters);
}

/// What is wrong with an answer, or empty.
std::string judge(const Task &task, const Target &target, const Space &space,
                  const Answer &answer, std::set<std::string> &different) {
  Result<Schedule> schedule = parseAnswer(space, answer.tokens);
  if (!schedule)
    return schedule.error().message;
  different.insert(schedule->text());
  return checkSchedule(task, target, *schedule);
}

struct Tally {
  int64_t samples = 0, legal = 0, tokens = 0;
  std::string first; ///< that is not legal
};

Result<Tally> run(const Flags &flags, int64_t &differentSchedules) {
  TLM_TRY(auto target, targetFor(flags.mcpu));
  TLM_TRY(auto tasks, tasksOf(flags));
  TLM_TRY(auto model, modelOf(flags));
  Inference inference(model, flags.threads);
  std::deque<Space> spaces; // cursors point to them
  std::vector<Tokens> prompts;
  for (const Task &task : tasks) {
    spaces.emplace_back(task, target);
    prompts.push_back(promptPrefix(Hardware::of(target), task));
  }
  std::vector<DecodeRequest> requests;
  std::vector<Result<ContextRef>> contexts = inference.read(prompts);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!contexts[i])
      return contexts[i].error();
    requests.push_back({*contexts[i], promptSuffix(Quality(0)),
                        maskOf(AnswerCursor(spaces[i])), i});
  }

  Tally tally;
  std::vector<std::set<std::string>> different(tasks.size());
  DecodeOptions options{DecodeMethod::Sample, flags.round, flags.temperature,
                        flags.seed};
  while (tally.samples < flags.count) {
    std::vector<Answers> results = inference.decode(requests, options);
    ++options.seed;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i])
        return results[i].error();
      for (const Answer &answer : *results[i]) {
        if (tally.samples == flags.count)
          break;
        ++tally.samples;
        tally.tokens += int64_t(answer.tokens.size());
        std::string bad =
            judge(tasks[i], target, spaces[i], answer, different[i]);
        tally.legal += bad.empty();
        if (!bad.empty() && tally.first.empty())
          tally.first = bad + ": " + wordsText(answer.tokens);
      }
    }
  }
  for (const std::set<std::string> &texts : different)
    differentSchedules += int64_t(texts.size());
  return tally;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Decodes schedules and has them judged.", "tlm-samples");
  Flags flags;
  app.add_option("tasks", flags.tasks, "task texts");
  app.add_option("--model", flags.model,
                 "model folder, instead of any weights");
  app.add_option("--mcpu", flags.mcpu)->capture_default_str();
  app.add_option("--count", flags.count)->capture_default_str();
  app.add_option("--temperature", flags.temperature)
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("--threads", flags.threads)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : int(ErrorCode::Usage);
  }
  auto begin = std::chrono::steady_clock::now();
  int64_t different = 0;
  Result<Tally> tally = run(flags, different);
  if (!tally)
    return fail(tally.error());
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (!tally->first.empty())
    std::printf("not legal: %s\n", tally->first.c_str());
  std::printf("samples: %s, %lld of %lld legal, %lld different, %.1f tokens "
              "each, %.1f s\n",
              tally->legal == tally->samples ? "OK" : "FAILED",
              static_cast<long long>(tally->legal),
              static_cast<long long>(tally->samples),
              static_cast<long long>(different),
              double(tally->tokens) / double(tally->samples), time.count());
  return tally->legal == tally->samples ? 0 : int(ErrorCode::Mismatch);
}
