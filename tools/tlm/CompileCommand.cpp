//===- CompileCommand.cpp - tlm compile -----------------------------------===//

#include "Commands.h"
#include "Emit.h"
#include "Flags.h"
#include "Report.h"
#include "Verification.h"
#include "base/AtomicFile.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::string model, output, verify = "quick";
  std::vector<std::string> emit{"lib"};
  bool timing = false;
  CompileFlags compile;
};

/// The Verify phase: runs the artifact and compares every step with the
/// reference.
Result<std::string> verifyArtifact(const CompileOptions &compile,
                                   const Compilation &compilation) {
  if (std::string missing = missingFeature(compile.target); !missing.empty())
    return "skipped: this machine lacks " + missing;
  TLM_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::open(compile.outputPath, {}));
  TLM_TRY(std::vector<HostTensor> inputs,
          makeInputs(model->inputs(), {}, /*seed=*/0));
  std::vector<HostTensor> outputs;
  TLM_TRY(std::vector<HostTensor> steps,
          runKeepingSteps(*model, inputs, outputs));
  TLM_TRY(Verification verification,
          compareWithReference(compilation.imported, *model, inputs, steps,
                               outputs, {}));
  if (const VerifiedTensor *bad = verification.firstBad())
    return makeError(
        "verify: " + (bad->step.empty() ? "output" : "step " + bad->step) +
            " '" + bad->value + "' " + bad->comparison.text,
        "this is a bug of tlm; please report the model", ErrorCode::Mismatch);
  return verification.text() + " -> OK";
}

Status writeKinds(const Options &options, const std::vector<EmitKind> &kinds,
                  const CompileOptions &compile,
                  const Compilation &compilation) {
  for (EmitKind kind : kinds) {
    if (kind == EmitKind::Lib)
      continue; // the Link phase wrote it
    std::string bytes = emitBytes(kind, compilation, compile);
    std::string path = emitPath(kind, kinds, options.output, options.model);
    if (path == "-")
      std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    else
      TLM_TRY_STATUS(writeFileAtomically(path, bytes));
  }
  return success();
}

/// Tasks whose first schedule was given up.
nlohmann::json fallbacksOf(const Compilation &compilation) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < compilation.fallbackReasons.size(); ++i)
    if (!compilation.fallbackReasons[i].empty())
      list.push_back({{"key", compilation.plan.tasks[i].key()},
                      {"label", compilation.plan.tasks[i].label()},
                      {"reason", compilation.fallbackReasons[i]}});
  return list;
}

/// What compiling each task's kernel took, and where its schedule is from.
nlohmann::json kernelsOf(const Compilation &compilation) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < compilation.lowerTimes.size(); ++i) {
    const ChosenSchedule &chosen = compilation.chosen[i];
    list.push_back({{"key", compilation.plan.tasks[i].key()},
                    {"label", compilation.plan.tasks[i].label()},
                    {"seconds", compilation.lowerTimes[i].seconds},
                    {"cpu_seconds", compilation.lowerTimes[i].cpuSeconds},
                    {"schedule_source", nameOf(chosen.source)}});
    if (chosen.lookup)
      list.back()["records"] = {{"outcome", nameOf(chosen.lookup->outcome)},
                                {"detail", chosen.lookup->detail}};
    if (const WrittenSchedule *written = chosen.writtenSchedule())
      list.back()["log_probability"] = written->logProbability;
    if (chosen.measured)
      list.back()["measured"] = {
          {"candidates", chosen.measured->candidates},
          {"failed", chosen.measured->failed},
          {"microseconds", chosen.measured->microseconds},
          {"default_microseconds", chosen.measured->defaultMicroseconds}};
  }
  return list;
}

/// What the language model took.
nlohmann::json inferenceOf(const CompileOptions &compile,
                           const InferenceReport &inference) {
  return {{"model", compile.writer->folder},
          {"samples", compile.writer->samples},
          {"seed", compile.writer->seed},
          {"load_seconds", inference.loadSeconds},
          {"write_seconds", inference.writeSeconds},
          {"tokens_read", inference.tokensRead},
          {"tokens_written", inference.tokensWritten},
          {"written", inference.written},
          {"without_decision", inference.withoutDecision},
          {"refused", inference.refused}};
}

/// Steps that run interleaved or without a barrier between them.
int64_t chainedSteps(const Plan &plan) {
  int64_t steps = 0;
  for (const PlanChain &chain : plan.chains)
    steps += chain.count;
  return steps;
}

nlohmann::json reportOf(const CompileOptions &compile,
                        const Compilation &compilation) {
  nlohmann::json report = newReport("compile");
  nlohmann::json list = nlohmann::json::array();
  for (const PhaseReport &phase : compilation.phases)
    list.push_back({{"name", nameOf(phase.phase)},
                    {"seconds", phase.seconds},
                    {"peak_bytes", phase.peakBytes},
                    {"detail", phase.detail}});
  report["model"] = {{"path", compile.modelPath}};
  report["output"] = compile.outputPath;
  report["target"] = {{"cpu", compile.target.cpu},
                      {"features", compile.target.features},
                      {"threads", compile.target.threads}};
  report["phases"] = list;
  report["steps"] = compilation.plan.steps.size();
  report["tasks"] = compilation.plan.tasks.size();
  report["chained_steps"] = chainedSteps(compilation.plan);
  report["arena_bytes"] = compilation.plan.arenaBytes;
  report["naive_bytes"] = compilation.plan.naiveBytes;
  report["file_bytes"] = compilation.artifact.fileBytes;
  report["weight_bytes"] = compilation.artifact.weightBytes;
  report["warnings"] = compilation.warnings;
  report["kernels"] = kernelsOf(compilation);
  report["fallbacks"] = fallbacksOf(compilation);
  if (compilation.inference)
    report["inference"] = inferenceOf(compile, *compilation.inference);
  return report;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ",") + word;
  return text;
}

Status compile(const Options &options, const GlobalOptions &global) {
  TLM_TRY(std::vector<EmitKind> kinds, parseEmit(options.emit));
  bool library = false;
  for (EmitKind kind : kinds) {
    library |= kind == EmitKind::Lib;
    if (options.output == "-" && !infoOf(kind).isText)
      return makeError(std::string("--emit=") + infoOf(kind).name +
                           " cannot go to stdout",
                       {}, ErrorCode::Usage);
  }
  TLM_TRY(CompileOptions compile, options.compile.options(options.model));
  options.compile.noteMissingModel(compile, global);
  compile.keepTexts = kinds.size() > 1 || !library;
  compile.outputPath = emitPath(library ? EmitKind::Lib : kinds[0], kinds,
                                options.output, options.model);
  compile.checkKernels = options.verify != "none";
  compile.stopAfter = !library                  ? Phase::SelfCheck
                      : options.verify == "ref" ? Phase::Verify
                                                : Phase::Link;
  compile.verifyArtifact = [&](const Compilation &compilation) {
    return verifyArtifact(compile, compilation);
  };
  showProgress(compile, global);
  compile.described = [&](const ModelSummary &summary) {
    note(global, options.model + ": " + summary.text());
  };
  TLM_TRY(Compilation compilation, compileModel(compile));
  for (const std::string &warning : compilation.warnings)
    warn(global, warning);
  TLM_TRY_STATUS(writeKinds(options, kinds, compile, compilation));
  if (global.showsProgress()) {
    double seconds = 0;
    for (const PhaseReport &phase : compilation.phases)
      seconds += phase.seconds;
    std::fprintf(
        stderr,
        "done in %.1f s.  needs: %s   memory plan: %.1f MiB arena (naive "
        "%.1f)\n",
        seconds, joined(compile.target.features).c_str(),
        double(compilation.plan.arenaBytes) / (1 << 20),
        double(compilation.plan.naiveBytes) / (1 << 20));
  }
  if (options.timing)
    std::fputs(timingTable(compilation.phases).c_str(),
               options.output == "-" ? stderr : stdout);
  return writeReport(reportOf(compile, compilation), global.jsonPath);
}

} // namespace

Action addCompile(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "model.onnx")->required();
  app.add_option("-o,--output", options->output,
                 "the file to write, exactly (default: the model's name with "
                 ".so here); - is stdout for text kinds");
  app.add_option("--emit", options->emit,
                 "lib, header, mlir, schedule, llvm-ir, asm, obj: one or "
                 "several; the first one gets -o, the others its name with "
                 "their extension")
      ->delimiter(',')
      ->type_name("KINDS")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--verify", options->verify,
                 "quick (every kernel once against what its task says), ref "
                 "(also every step of the artifact against the reference), "
                 "none")
      ->check(CLI::IsMember({"quick", "ref", "none"}))
      ->capture_default_str();
  app.add_flag("--timing", options->timing, "print seconds and memory a phase");
  options->compile.add(app);
  options->compile.addSources(app);
  return [options, &global] { return compile(*options, global); };
}

} // namespace tlm
