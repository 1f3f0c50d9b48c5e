//===- TrainTool.cpp - tlm-train: weights of the language model -----------===//

#include "train/Trainer.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

using namespace tlm;

namespace {

int fail(const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return int(error.code);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Trains tlm's language model on a file of sentences.",
               "tlm-train");
  TrainOptions options;
  TrainPaths paths;
  TrainPace pace;
  TrainRank rank;
  options.threads = int(std::max(1u, std::thread::hardware_concurrency()));
  app.add_option("data", paths.data, "sentences to learn")->required();
  app.add_option("-o,--out", paths.out, "model folder to write")->required();
  app.add_option("--validation", paths.validation, "sentences to judge by");
  app.add_option("--start", paths.start, "model folder to go on from");
  app.add_flag("--resume", pace.resume, "go on from the folder's checkpoint");
  app.add_option("--layers", options.layers)->capture_default_str();
  app.add_option("--heads", options.heads)->capture_default_str();
  app.add_option("--width", options.width)->capture_default_str();
  app.add_option("--positions", options.positions, "longest sentence")
      ->capture_default_str();
  app.add_option("--steps", options.steps)->capture_default_str();
  app.add_option("--batch", options.batchTokens, "tokens of a step")
      ->capture_default_str();
  app.add_option("--rate", options.rate, "highest learning rate")
      ->capture_default_str();
  app.add_option("--final", options.finalShare, "share of it at the end")
      ->capture_default_str();
  app.add_option("--warmup", options.warmup, "steps until it is reached")
      ->capture_default_str();
  app.add_option("--decay", options.decay, "decay of the weights")
      ->capture_default_str();
  app.add_option("--clip", options.clip, "largest norm of the gradients")
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--adapter-rank", options.rank,
                 "learn an adapter of this rank, not the weights")
      ->capture_default_str();
  app.add_option("--adapter-scale", options.scale)->capture_default_str();
  app.add_option("--threads", options.threads, "of each process")
      ->capture_default_str();
  app.add_option("--world", options.world, "number of processes")
      ->capture_default_str();
  app.add_option("--rank", rank.rank, "which of them this one is");
  app.add_option("--store", rank.storeFile,
                 "file through which they find each other");
  app.add_option("--checkpoint-every", pace.checkpointEvery, "steps")
      ->capture_default_str();
  app.add_option("--validate-every", pace.validateEvery, "steps")
      ->capture_default_str();
  app.add_option("--report-every", pace.reportEvery, "steps")
      ->capture_default_str();
  app.add_option("--stop-after", pace.stopAfter,
                 "stop behind this step, to resume later");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &failure) {
    return app.exit(failure) == 0 ? 0 : int(ErrorCode::Usage);
  }
  if (std::string bad = options.verify(); !bad.empty())
    return fail(makeError(bad, {}, ErrorCode::Usage));
  if (rank.rank < 0 || rank.rank >= options.world ||
      (options.world > 1 && rank.storeFile.empty()))
    return fail(makeError("--rank must be below --world, and several processes "
                          "need --store",
                          {}, ErrorCode::Usage));

  configureTorch(options.threads);
  if (std::string bad = blasComplaint(); !bad.empty())
    return fail(makeError(bad, {}, ErrorCode::Machine));
  auto report = [&](const std::string &line) {
    if (rank.rank == 0) {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    }
  };
  Result<TrainResult> result = train(options, paths, pace, rank, report);
  if (!result)
    return fail(result.error());
  report("train: OK, " + std::to_string(result->steps) + " steps");
  return 0;
}
