//===- TrainTool.cpp - tlm-train: weights of the language model -----------===//

#include "base/AtomicFile.h"
#include "train/Trainer.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

using namespace tlm;

namespace {

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return int(error.code);
}

struct Flags {
  TrainOptions options;
  TrainPaths paths;
  TrainPace pace;
  TrainRank rank;
  std::string adapter, json;
};

void addPace(CLI::App &app, Flags &flags) {
  app.add_option("--steps", flags.options.steps)->capture_default_str();
  app.add_option("--batch", flags.options.batchTokens, "tokens of a step")
      ->capture_default_str();
  app.add_option("--rate", flags.options.rate, "highest learning rate")
      ->capture_default_str();
  app.add_option("--final", flags.options.finalShare, "share of it at the end")
      ->capture_default_str();
  app.add_option("--warmup", flags.options.warmup, "steps until it is reached")
      ->capture_default_str();
  app.add_option("--decay", flags.options.decay, "decay of the weights")
      ->capture_default_str();
  app.add_option("--clip", flags.options.clip, "largest norm of the gradients")
      ->capture_default_str();
  app.add_option("--seed", flags.options.seed)->capture_default_str();
  app.add_option("--validation", flags.paths.validation,
                 "sentences to judge by");
  app.add_flag("--resume", flags.pace.resume,
               "go on from the folder's checkpoint");
  app.add_option("--world", flags.options.world, "number of processes")
      ->capture_default_str();
  app.add_option("--rank", flags.rank.rank, "which of them this one is");
  app.add_option("--store", flags.rank.storeFile,
                 "file through which they find each other");
  app.add_option("--checkpoint-every", flags.pace.checkpointEvery, "steps")
      ->capture_default_str();
  app.add_option("--validate-every", flags.pace.validateEvery, "steps")
      ->capture_default_str();
  app.add_option("--report-every", flags.pace.reportEvery, "steps")
      ->capture_default_str();
  app.add_option("--stop-after", flags.pace.stopAfter,
                 "stop behind this step, to resume later");
}

void addTrain(CLI::App &app, Flags &flags) {
  app.add_option("-o,--out", flags.paths.out, "model folder to write")
      ->required();
  CLI::Option *start = app.add_option("--start", flags.paths.start,
                                      "model folder to go on from");
  app.add_option("--layers", flags.options.layers)
      ->capture_default_str()
      ->excludes(start);
  app.add_option("--heads", flags.options.heads)
      ->capture_default_str()
      ->excludes(start);
  app.add_option("--width", flags.options.width)
      ->capture_default_str()
      ->excludes(start);
  app.add_option("--positions", flags.options.positions, "longest sentence")
      ->capture_default_str()
      ->excludes(start);
  addPace(app, flags);
}

void addAdapt(CLI::App &app, Flags &flags) {
  app.add_option("-o,--out", flags.paths.out, "folder of the adapter")
      ->required();
  app.add_option("--model", flags.paths.start, "model folder to adapt")
      ->required();
  app.add_option("--adapter-rank", flags.options.rank)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--adapter-scale", flags.options.scale)->capture_default_str();
  addPace(app, flags);
}

void addEval(CLI::App &app, Flags &flags) {
  app.add_option("--model", flags.paths.start, "model folder")->required();
  app.add_option("--adapter", flags.adapter, "adapter.safetensors of it");
  app.add_option("--json", flags.json, "file to write the numbers to");
}

/// How well one score of answers orders them, printed and as JSON.
nlohmann::json reportRanks(const char *name, const RankSums &ranks) {
  if (ranks.tasks == 0)
    return nullptr;
  auto tasks = double(ranks.tasks);
  double right =
             ranks.pairs ? double(ranks.rightPairs) / double(ranks.pairs) : 0,
         regret = std::exp(ranks.logLoss / tasks);
  std::printf("order by %s: rho %.3f, %.1f %% of pairs right, time of the "
              "first / best %.3f; %lld prompts, %lld answers\n",
              name, ranks.spearman / tasks, 100 * right, regret,
              static_cast<long long>(ranks.tasks),
              static_cast<long long>(ranks.candidates));
  return {{"prompts", ranks.tasks},
          {"answers", ranks.candidates},
          {"spearman", ranks.spearman / tasks},
          {"right_pairs", right},
          {"first_over_best", regret}};
}

int runEval(const Flags &flags) {
  Result<Evaluation> evaluation =
      evaluate(flags.paths.start, flags.adapter, flags.paths.data);
  if (!evaluation)
    return fail(evaluation.error());
  const LossSums &sums = evaluation->sums;
  nlohmann::json report = {
      {"loss", sums.loss / double(sums.targets)},
      {"right", double(sums.correct) / double(sums.targets)},
      {"tokens", sums.targets},
      {"by_probability",
       reportRanks("probability", evaluation->ranks.byProbability)},
      {"by_judgement",
       reportRanks("judgement", evaluation->ranks.byJudgement)}};
  if (!flags.json.empty())
    if (Status written = writeFileAtomically(flags.json, report.dump(1) + "\n");
        !written)
      return fail(written.error());
  std::printf("eval: OK, loss %.4f, %.1f %% right, %lld tokens\n",
              sums.loss / double(sums.targets),
              100 * double(sums.correct) / double(sums.targets),
              static_cast<long long>(sums.targets));
  return 0;
}

int runTrain(Flags &flags) {
  if (!flags.paths.start.empty())
    if (Status taken = takeShape(flags.paths.start, flags.options); !taken)
      return fail(taken.error());
  const TrainRank &rank = flags.rank;
  if (std::string bad = flags.options.verify(); !bad.empty())
    return fail(makeError(bad, {}, ErrorCode::Usage));
  if (rank.rank < 0 || rank.rank >= flags.options.world ||
      (flags.options.world > 1 && rank.storeFile.empty()))
    return fail(makeError("--rank must be below --world, and several processes "
                          "need --store",
                          {}, ErrorCode::Usage));
  auto report = [&](const std::string &line) {
    if (rank.rank == 0) {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    }
  };
  Result<TrainResult> result =
      train(flags.options, flags.paths, flags.pace, rank, report);
  if (!result)
    return fail(result.error());
  report("train: OK, " + std::to_string(result->steps) + " steps");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Trains and judges tlm's language model.", "tlm-train");
  app.require_subcommand(1);
  Flags training, adapting, evaluating;
  adapting.options.rank = 8;
  adapting.options.steps = 200;
  adapting.options.warmup = 20;
  struct Command {
    CLI::App *app;
    Flags *flags;
  };
  const Command commands[] = {
      {app.add_subcommand("train", "weights from sentences"), &training},
      {app.add_subcommand("adapt", "an adapter for one machine"), &adapting},
      {app.add_subcommand("eval", "how well a model knows sentences"),
       &evaluating}};
  for (const Command &command : commands) {
    command.app->add_option("data", command.flags->paths.data, "sentences")
        ->required();
    command.flags->options.threads =
        int(std::max(1u, std::thread::hardware_concurrency()));
    command.app
        ->add_option("--threads", command.flags->options.threads,
                     "of each process")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
  }
  addTrain(*commands[0].app, training);
  addAdapt(*commands[1].app, adapting);
  addEval(*commands[2].app, evaluating);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : int(ErrorCode::Usage);
  }
  for (const Command &command : commands) {
    if (!*command.app)
      continue;
    configureTorch(command.flags->options.threads);
    if (std::string bad = blasComplaint(); !bad.empty())
      return fail(makeError(bad, {}, ErrorCode::Machine));
    return command.flags == &evaluating ? runEval(evaluating)
                                        : runTrain(*command.flags);
  }
  return int(ErrorCode::Usage);
}
