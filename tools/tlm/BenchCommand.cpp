//===- BenchCommand.cpp - tlm bench ---------------------------------------===//

#include "Callers.h"
#include "Commands.h"
#include "Flags.h"
#include "LoadedModel.h"
#include "MachinePeak.h"
#include "Profile.h"
#include "Report.h"
#include "Statistics.h"
#include "Trace.h"
#include "base/AtomicFile.h"
#include "target/Target.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

/// Above this the spread is worth a warning, as trtexec does.
constexpr double kNoisyPercent = 2.5;
/// A profile is medians over so many runs, or less when they take long.
constexpr size_t kProfiledRuns = 200;
constexpr double kProfiledMs = 1e3;
/// Of each caller, in a trace: the first one shows what is cold.
constexpr int kTracedRuns = 3;

struct Options {
  std::string model, warmup = "200ms", duration, mode = "latency", trace;
  int64_t iterations = 0, streams = 0;
  std::vector<double> percentiles{90, 95, 99};
  LoadOptions load;
  bool profile = false;
  InputFlags inputs;
};

/// "200ms" is a time, "10" a count of runs.
Status warmUp(const std::string &text, Callers &callers) {
  bool isCount = text.find_first_not_of("0123456789") == std::string::npos;
  TLM_TRY(double amount, parseDuration(text));
  StopRule rule;
  if (isCount)
    rule.iterations = int64_t(amount);
  else
    rule.seconds = amount;
  TLM_TRY([[maybe_unused]] Samples samples, callers.run(rule));
  return success();
}

Result<StopRule> stopRule(const Options &options) {
  bool onlyCount = options.iterations > 0 && options.duration.empty();
  StopRule rule;
  TLM_TRY(rule.seconds,
          parseDuration(onlyCount                  ? "0"
                        : options.duration.empty() ? "3s"
                                                   : options.duration));
  rule.iterations = options.iterations         ? options.iterations
                    : options.duration.empty() ? 10
                                               : 1;
  return rule;
}

/// One caller with all threads, or a caller a CPU with one thread each; what
/// was given stands.
void applyMode(Options &options) {
  if (options.mode != "throughput") {
    options.streams = std::max<int64_t>(options.streams, 1);
    return;
  }
  if (options.load.threads == 0)
    options.load.threads = 1;
  if (options.streams == 0)
    options.streams = std::max<int64_t>(1, usableCpus() / options.load.threads);
}

Status writeTrace(const std::string &path, const LoadedModel &model,
                  Callers &callers) {
  Trace trace(model, callers.count());
  std::vector<StepHook> hooks;
  hooks.reserve(callers.count());
  for (size_t caller = 0; caller < callers.count(); ++caller)
    hooks.push_back(trace.hook(caller));
  TLM_TRY_STATUS(callers.runTogether(
      kTracedRuns, hooks, [&](size_t caller) { trace.endRun(caller); }));
  return writeFileAtomically(path, trace.text());
}

Status bench(Options options, const GlobalOptions &global) {
  applyMode(options);
  TLM_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::open(options.model, options.load));
  TLM_TRY(std::vector<HostTensor> inputs,
          options.inputs.make(model->inputs(), global));
  for (double percent : options.percentiles)
    if (std::isnan(percent) || percent < 0 || percent > 100)
      return makeError("--percentile: expected numbers from 0 to 100", {},
                       ErrorCode::Usage);
  TLM_TRY(StopRule rule, stopRule(options));
  TLM_TRY(Callers callers,
          Callers::make(*model, inputs, size_t(options.streams)));
  TLM_TRY_STATUS(warmUp(options.warmup, callers));
  TLM_TRY(Samples samples, callers.run(rule));
  const std::vector<double> &ms = samples.ms;
  Statistics s = summarise(ms, options.percentiles);

  int64_t threads = options.load.threads ? options.load.threads : usableCpus();
  threads = std::min(threads * options.streams, usableCpus());
  double peak = measurePeakGflops(int(threads));
  bool alone = options.streams == 1;
  double throughput =
      alone ? 1e3 / s.mean : double(ms.size()) / samples.seconds;
  double gflops = model->flops() / 1e9 * (alone ? 1e3 / s.median : throughput);
  std::printf("latency ms   min %.3f  median %.3f  mean %.3f", s.min, s.median,
              s.mean);
  for (size_t i = 0; i < s.percentiles.size(); ++i)
    std::printf("  p%g %.3f", options.percentiles[i], s.percentiles[i]);
  std::printf("  max %.3f   (n=%zu, %.1f s, cov %.1f %%)\n", s.max, ms.size(),
              samples.seconds, s.variationPercent);
  std::printf("throughput   %.1f /s     arithmetic %.0f GFLOP/s = %.0f %% of "
              "measured peak",
              throughput, gflops, 100 * gflops / peak);
  if (!alone)
    std::printf("     %lld callers", static_cast<long long>(options.streams));
  std::printf("\n");

  nlohmann::json report = newReport("bench");
  report["model"] = {{"path", options.model},
                     {"inputs", signatureJson(model->inputs())},
                     {"outputs", signatureJson(model->outputs())},
                     {"flops", model->flops()}};
  report["config"] = {{"threads", options.load.threads},
                      {"streams", options.streams},
                      {"mode", options.mode},
                      {"warmup", options.warmup},
                      {"iterations", options.iterations},
                      {"duration", options.duration},
                      {"seed", options.inputs.seed}};
  report["latency_ms"] = {
      {"min", s.min},   {"median", s.median},
      {"mean", s.mean}, {"max", s.max},
      {"n", ms.size()}, {"cov_percent", s.variationPercent}};
  for (size_t i = 0; i < s.percentiles.size(); ++i) {
    char name[32];
    std::snprintf(name, sizeof(name), "p%g", options.percentiles[i]);
    report["latency_ms"][name] = s.percentiles[i];
  }
  report["samples"] = ms;
  report["throughput"] = throughput;
  report["gflops"] = gflops;
  report["peak_gflops"] = peak;
  report["warnings"] = nlohmann::json::array();
  auto warning = [&](const std::string &text) {
    warn(global, text);
    report["warnings"].push_back(text);
  };
  if (options.profile) {
    Profile profile(*model);
    std::vector<HostTensor> outputs;
    double budgetMs = kProfiledMs;
    for (size_t i = 0; i < std::min(ms.size(), kProfiledRuns); ++i) {
      TLM_TRY_STATUS(model->run(inputs, outputs, profile.hook()));
      budgetMs -= s.median;
      if (budgetMs < 0)
        break;
    }
    std::fputs(profile.table(peak).c_str(), stdout);
    report["kernels"] = profile.json(peak);
  }
  if (!options.trace.empty())
    TLM_TRY_STATUS(writeTrace(options.trace, *model, callers));
  if (s.variationPercent > kNoisyPercent)
    warning("times vary by " + std::to_string(int(s.variationPercent)) +
            " %; results may drift");
  if (frequencyGovernor() == "powersave")
    warning("CPU frequency governor is 'powersave'; results may drift");
  return writeReport(report, global.jsonPath);
}

} // namespace

Action addBench(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "model.so")->required();
  options->inputs.add(app);
  app.add_option("--threads", options->load.threads,
                 "workers (default: TLM_NUM_THREADS, or what the model was "
                 "compiled for)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--warmup", options->warmup, "a time (200ms) or a count")
      ->capture_default_str();
  app.add_option("-n,--iterations", options->iterations, "runs at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--duration", options->duration,
                 "time at least, as 3s; it stops when both are reached");
  app.add_option("--mode", options->mode,
                 "latency: one caller with all threads; throughput: a caller "
                 "for every CPU, with one thread each")
      ->check(CLI::IsMember({"latency", "throughput"}))
      ->capture_default_str();
  app.add_option("--streams", options->streams,
                 "parallel callers, each with a context of its own (default: "
                 "by --mode)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--percentile", options->percentiles, "as 50,90,99")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--profile", options->profile, "print a table of kernels");
  app.add_option("--trace", options->trace,
                 "write a few runs for chrome://tracing or ui.perfetto.dev")
      ->type_name("FILE");
  return [options, &global] { return bench(*options, global); };
}

} // namespace tlm
