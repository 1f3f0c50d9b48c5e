//===- Compile.cpp - from model.onnx to model.so --------------------------===//

#include "driver/Compile.h"

#include "driver/LanguageSource.h"
#include "driver/SelfCheck.h"
#include "driver/Stripes.h"
#include "graph/Passes.h"
#include "import/Import.h"
#include "space/DefaultSchedule.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <numeric>
#include <optional>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace tlm {
namespace {

/// What a phase returns: the detail of its progress line.
using Detail = Result<std::string>;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double threadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

int64_t peakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) << 10;
}

std::string mebibytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", double(bytes) / (1 << 20));
  return text;
}

Detail runImport(const CompileOptions &options, Compilation &c) {
  TLM_TRY(ImportedModel model, importOnnx(options.modelPath, options.import));
  c.imported = std::move(model.graph);
  c.summary = std::move(model.summary);
  c.warnings = std::move(model.warnings);
  if (options.described)
    options.described(c.summary);
  return std::to_string(c.imported.nodes.size()) + " nodes";
}

Detail runGraph(const CompileOptions &, Compilation &c) {
  c.graph = c.imported;
  simplifyGraph(c.graph);
  return std::to_string(c.graph.nodes.size()) + " nodes left";
}

Detail runPartition(const CompileOptions &options, Compilation &c) {
  TLM_TRY(c.plan, partition(c.graph, {.workers = options.target.threads}));
  std::string broken = verifyPlan(c.plan, c.graph);
  TLM_CHECK(broken.empty()) << broken;
  return std::to_string(c.plan.steps.size()) + " kernels (" +
         std::to_string(c.plan.tasks.size()) + " unique), arena " +
         mebibytes(c.plan.arenaBytes) + " (naive " +
         mebibytes(c.plan.naiveBytes) + ")";
}

Detail runSchedules(const CompileOptions &options, Compilation &c) {
  TLM_TRY(ScheduleChooser chooser, ScheduleChooser::make(options));
  std::map<ScheduleSource, size_t> counts;
  std::map<LookupOutcome, size_t> misses;
  for (const Task &task : c.plan.tasks) {
    TLM_TRY(ChosenSchedule chosen, chooser.choose(task));
    ++counts[chosen.source];
    if (chosen.lookup && !chosen.lookup->isFound())
      ++misses[chosen.lookup->outcome];
    c.chosen.push_back(std::move(chosen));
  }
  if (options.scheduleFile && counts[ScheduleSource::Given] == 0)
    return makeError("none of the schedules given is of a task of this model",
                     "tlm explain prints the schedules of a model with their "
                     "tasks' keys");
  std::string text;
  if (options.scheduleFile)
    text += std::to_string(counts[ScheduleSource::Given]) + " given, ";
  if (!options.recordsPath.empty())
    text += std::to_string(counts[ScheduleSource::Records]) + " from records, ";
  size_t rest = counts[ScheduleSource::Default];
  if (options.writer)
    text += std::to_string(rest) + " left to the language model";
  else
    text += options.plainSchedules
                ? std::to_string(counts[ScheduleSource::Plain]) + " plain"
                : std::to_string(rest) + " by default rules";
  std::string reasons;
  for (const auto &[outcome, count] : misses)
    reasons.append(reasons.empty() ? "" : ", ")
        .append(std::to_string(count) + " ")
        .append(nameOf(outcome));
  return reasons.empty() ? text : text + " (" + reasons + ")";
}

Detail runInference(const CompileOptions &options, Compilation &c) {
  TLM_TRY(c.inference, writeSchedules(options, c.plan.tasks, c.chosen));
  if (!c.inference->unusable.empty())
    c.warnings.push_back(c.inference->unusable);
  return c.inference->text();
}

Detail runMeasure(const CompileOptions &options, Compilation &c) {
  return measureSchedules(options, c.plan.tasks, c.chosen);
}

/// One task: its schedule, or the one to fall back to when that is rejected.
Result<Kernel> lowerOne(const CompileOptions &options, const Task &task,
                        size_t index, Schedule &schedule,
                        std::string &fallbackReason) {
  LowerOptions lowerOptions;
  lowerOptions.keepTexts = options.keepTexts;
  std::string prefix = kernelPrefix(index);
  Result<Kernel> kernel =
      lowerTask(task, schedule, options.target, prefix, lowerOptions);
  while (!kernel) {
    std::optional<Schedule> next = fallbackSchedule(options, task, schedule);
    if (!next)
      return kernel;
    fallbackReason +=
        (fallbackReason.empty() ? "" : "; ") + kernel.error().message;
    schedule = std::move(*next);
    kernel = lowerTask(task, schedule, options.target, prefix, lowerOptions);
  }
  return kernel;
}

Detail runLower(const CompileOptions &options, Compilation &c) {
  size_t count = c.plan.tasks.size();
  for (const ChosenSchedule &chosen : c.chosen)
    c.schedules.push_back(chosen.schedule);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return c.plan.tasks[a].flops() > c.plan.tasks[b].flops();
  });
  std::vector<std::optional<Result<Kernel>>> results(count);
  c.fallbackReasons.resize(count);
  c.lowerTimes.resize(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < count;) {
      size_t task = order[i];
      auto begin = Clock::now();
      double cpuBegin = threadCpuSeconds();
      results[task].emplace(lowerOne(options, c.plan.tasks[task], task,
                                     c.schedules[task],
                                     c.fallbackReasons[task]));
      c.lowerTimes[task] = {secondsSince(begin), threadCpuSeconds() - cpuBegin};
    }
  };
  int64_t jobs = options.jobs ? options.jobs : usableCpus();
  jobs = std::clamp<int64_t>(jobs, 1, std::max<int64_t>(1, int64_t(count)));
  std::vector<std::thread> workers;
  for (int64_t i = 1; i < jobs; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();

  for (size_t i = 0; i < count; ++i) {
    Result<Kernel> &kernel = *results[i];
    if (!kernel)
      return makeError("no kernel for task " + c.plan.tasks[i].label() + ": " +
                           kernel.error().message,
                       "this is a bug of tlm; please report the model");
    c.kernels.push_back(std::move(*kernel));
    if (!c.fallbackReasons[i].empty())
      c.warnings.push_back(fallbackWarning(c, i));
    if (options.damageKernel)
      options.damageKernel(i, c.kernels.back());
  }
  size_t bytes = 0;
  for (const Kernel &kernel : c.kernels)
    bytes += kernel.object.size();
  return std::to_string(count) + " kernels, " + options.target.cpu + ", " +
         std::to_string(options.target.threads) + " threads, objects " +
         mebibytes(int64_t(bytes));
}

Detail runLink(const CompileOptions &options, Compilation &c) {
  c.plan.chains = chooseChains(c.plan, c.kernels, options.target.threads,
                               options.target.stripedBytes());
  planMemory(c.plan, options.target.threads);
  std::string broken = verifyPlan(c.plan, c.graph);
  TLM_CHECK(broken.empty()) << broken;
  TLM_TRY(c.artifact,
          writeArtifact(c.artifactInput(options), options.outputPath));
  return options.outputPath + " " + mebibytes(c.artifact.fileBytes) +
         " (weights " + mebibytes(c.artifact.weightBytes) +
         (c.artifact.sideFile.empty() ? ")"
                                      : " in " + c.artifact.sideFile + ")");
}

Detail runVerify(const CompileOptions &options, Compilation &c) {
  if (!options.verifyArtifact)
    return std::string("skipped");
  Result<std::string> detail = options.verifyArtifact(c);
  if (!detail) {
    ::unlink(options.outputPath.c_str());
    if (!c.artifact.sideFile.empty())
      ::unlink(c.artifact.sideFile.c_str());
  }
  return detail;
}

using PhaseFunction = Detail (*)(const CompileOptions &, Compilation &);

/// In the order of phases().
constexpr PhaseFunction kFunctions[] = {
    runImport,  runGraph, runPartition, runSchedules, runInference,
    runMeasure, runLower, runSelfCheck, runLink,      runVerify,
};

} // namespace

bool CompileOptions::runs(Phase phase) const {
  if (phase > stopAfter)
    return false;
  if (phase == Phase::Inference)
    return writer.has_value();
  return phase != Phase::Measure || measured > 0;
}

ArtifactInput Compilation::artifactInput(const CompileOptions &options) const {
  ArtifactInput input;
  input.graph = &graph;
  input.plan = &plan;
  input.kernels = &kernels;
  input.schedules = &schedules;
  input.fallbackReasons = &fallbackReasons;
  input.target = options.target;
  bool named = !options.outputPath.empty() && options.outputPath != "-";
  input.name = artifactName(named ? options.outputPath : options.modelPath);
  input.threads = options.jobs ? options.jobs : usableCpus();
  return input;
}

Result<Compilation> compileModel(const CompileOptions &options) {
  Compilation c;
  for (const PhaseInfo &info : phases()) {
    if (!options.runs(info.phase))
      continue;
    auto begin = Clock::now();
    TLM_TRY(std::string detail, kFunctions[size_t(info.phase)](options, c));
    PhaseReport report;
    report.phase = info.phase;
    report.seconds = secondsSince(begin);
    report.peakBytes = peakResidentBytes();
    report.detail = std::move(detail);
    c.phases.push_back(report);
    if (options.progress)
      options.progress(report);
  }
  return c;
}

} // namespace tlm
