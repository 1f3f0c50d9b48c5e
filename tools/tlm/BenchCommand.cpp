//===- BenchCommand.cpp - tlm bench ---------------------------------------===//

#include "Commands.h"
#include "Flags.h"
#include "LoadedModel.h"
#include "MachinePeak.h"
#include "Profile.h"
#include "Report.h"
#include "Statistics.h"
#include "target/Target.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

using Clock = std::chrono::steady_clock;

/// Above this the spread is worth a warning, as trtexec does.
constexpr double kNoisyPercent = 2.5;

struct Options {
  std::string model, warmup = "200ms", duration;
  int64_t iterations = 0;
  std::vector<double> percentiles{90, 95, 99};
  LoadOptions load;
  bool profile = false;
  InputFlags inputs;
};

double msSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

/// "200ms" is a time, "10" a count of runs.
Status warmUp(const std::string &text, LoadedModel &model,
              const std::vector<HostTensor> &inputs,
              std::vector<HostTensor> &outputs) {
  bool isCount = text.find_first_not_of("0123456789") == std::string::npos;
  TLM_TRY(double amount, parseDuration(text));
  auto begin = Clock::now();
  for (int64_t i = 0;
       isCount ? double(i) < amount : msSince(begin) < amount * 1e3; ++i)
    TLM_TRY_STATUS(model.run(inputs, outputs));
  return success();
}

/// Runs until both the iterations and the duration are reached.
Result<std::vector<double>> measure(const Options &options, LoadedModel &model,
                                    const std::vector<HostTensor> &inputs,
                                    std::vector<HostTensor> &outputs) {
  bool onlyCount = options.iterations > 0 && options.duration.empty();
  TLM_TRY(double duration,
          parseDuration(onlyCount                  ? "0"
                        : options.duration.empty() ? "3s"
                                                   : options.duration));
  int64_t iterations = options.iterations         ? options.iterations
                       : options.duration.empty() ? 10
                                                  : 1;
  std::vector<double> ms;
  auto begin = Clock::now();
  while (int64_t(ms.size()) < iterations || msSince(begin) < duration * 1e3) {
    auto start = Clock::now();
    TLM_TRY_STATUS(model.run(inputs, outputs));
    ms.push_back(msSince(start));
  }
  return ms;
}

Status bench(const Options &options, const GlobalOptions &global) {
  TLM_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::open(options.model, options.load));
  TLM_TRY(std::vector<HostTensor> inputs,
          options.inputs.make(model->inputs(), global));
  for (double percent : options.percentiles)
    if (!(percent >= 0 && percent <= 100))
      return makeError("--percentile: expected numbers from 0 to 100", {},
                       ErrorCode::Usage);
  std::vector<HostTensor> outputs;
  TLM_TRY_STATUS(warmUp(options.warmup, *model, inputs, outputs));
  auto begin = Clock::now();
  TLM_TRY(std::vector<double> ms, measure(options, *model, inputs, outputs));
  double seconds = msSince(begin) / 1e3;
  Statistics s = summarise(ms, options.percentiles);

  int threads = options.load.threads ? options.load.threads : int(usableCpus());
  double peak = measurePeakGflops(threads);
  double gflops = model->flops() / s.median / 1e6;
  std::printf("latency ms   min %.3f  median %.3f  mean %.3f", s.min, s.median,
              s.mean);
  for (size_t i = 0; i < s.percentiles.size(); ++i)
    std::printf("  p%g %.3f", options.percentiles[i], s.percentiles[i]);
  std::printf("  max %.3f   (n=%zu, %.1f s, cov %.1f %%)\n", s.max, ms.size(),
              seconds, s.variationPercent);
  std::printf("throughput   %.1f /s     arithmetic %.0f GFLOP/s = %.0f %% of "
              "measured peak\n",
              1e3 / s.mean, gflops, 100 * gflops / peak);

  nlohmann::json report = newReport("bench");
  report["model"] = {{"path", options.model},
                     {"inputs", signatureJson(model->inputs())},
                     {"outputs", signatureJson(model->outputs())},
                     {"flops", model->flops()}};
  report["config"] = {{"threads", options.load.threads},
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
  report["throughput"] = 1e3 / s.mean;
  report["gflops"] = gflops;
  report["peak_gflops"] = peak;
  report["warnings"] = nlohmann::json::array();
  auto warning = [&](const std::string &text) {
    warn(global, text);
    report["warnings"].push_back(text);
  };
  if (options.profile) {
    Profile profile(*model);
    auto profileBegin = Clock::now();
    for (size_t i = 0; i < std::min<size_t>(ms.size(), 200) &&
                       (i == 0 || msSince(profileBegin) < 1e3);
         ++i) {
      TLM_TRY_STATUS(model->run(inputs, outputs, profile.hook()));
    }
    std::fputs(profile.table(peak).c_str(), stdout);
    report["kernels"] = profile.json(peak);
  }
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
  app.add_option("--percentile", options->percentiles, "as 50,90,99")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--profile", options->profile, "print a table of kernels");
  return [options, &global] { return bench(*options, global); };
}

} // namespace tlm
