//===- RunCommand.cpp - tlm run -------------------------------------------===//

#include "Commands.h"
#include "Expected.h"
#include "Flags.h"
#include "LoadedModel.h"
#include "MachinePeak.h"
#include "Npy.h"
#include "Profile.h"
#include "Report.h"
#include "Trace.h"
#include "base/AtomicFile.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::string model, dump, testData, trace;
  std::vector<std::string> outputs, expected;
  int64_t printed = 0;
  LoadOptions load;
  bool profile = false;
  InputFlags inputs;
  ToleranceFlags tolerance;
};

/// "@y.npz" and "@y.npy" (one output), "y=@y.npy", "-".
Status writeOutputs(const std::vector<HostTensor> &outputs,
                    const std::string &spec) {
  if (spec == "-") {
    for (const HostTensor &output : outputs)
      std::fputs(tensorText(output, -1).c_str(), stdout);
    return success();
  }
  size_t at = spec.starts_with("@") ? 0 : spec.find("=@");
  if (at == std::string::npos)
    return makeError("--output '" + spec +
                         "': expected @y.npz, @y.npy, NAME=@y.npy or -",
                     {}, ErrorCode::Usage);
  std::string name = at == 0 ? "" : spec.substr(0, at);
  std::string path = spec.substr(at == 0 ? 1 : at + 2);
  std::vector<HostTensor> chosen;
  for (const HostTensor &output : outputs)
    if (name.empty() || output.name == name)
      chosen.push_back(output);
  if (chosen.empty())
    return makeError("the model has no output '" + name + "'");
  if (path.ends_with(".npz")) {
    TLM_TRY(std::string bytes, npzBytes(chosen));
    return writeFileAtomically(path, bytes);
  }
  if (!path.ends_with(".npy"))
    return makeError("--output '" + spec +
                         "': the file's name must end in .npy or .npz",
                     {}, ErrorCode::Usage);
  if (chosen.size() != 1)
    return makeError("--output '" + spec + "': the model has " +
                         std::to_string(chosen.size()) +
                         " outputs; a .npy file holds one",
                     "write @y.npz, or NAME=@y.npy", ErrorCode::Usage);
  TLM_TRY(std::string bytes, npyBytes(chosen[0]));
  return writeFileAtomically(path, bytes);
}

/// Compares with --expect; an error of code Mismatch when something differs.
Status checkExpected(const Options &options, const LoadedModel &model,
                     const std::vector<HostTensor> &outputs,
                     nlohmann::json &report) {
  TLM_TRY(std::vector<HostTensor> expected,
          readExpected(model.outputs(), options.expected));
  std::string mismatch = compareExpected(
      outputs, expected, options.tolerance.tolerance, "", report["expected"]);
  if (mismatch.empty())
    return success();
  return makeError(mismatch, {}, ErrorCode::Mismatch);
}

Status runOnTestData(const Options &options, LoadedModel &model,
                     const GlobalOptions &global) {
  TLM_TRY(std::vector<TestData> sets,
          readTestData(options.testData, model.inputs(), model.outputs()));
  nlohmann::json report = newReport("run");
  report["model"] = {{"path", options.model}};
  Status verdict = runTestData(model, sets, options.tolerance.tolerance,
                               report["test_data"]);
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  return verdict;
}

Status run(const Options &options, const GlobalOptions &global) {
  TLM_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::open(options.model, options.load));
  if (!options.testData.empty())
    return runOnTestData(options, *model, global);
  TLM_TRY(std::vector<HostTensor> inputs,
          options.inputs.make(model->inputs(), global));
  std::vector<HostTensor> outputs;
  nlohmann::json report = newReport("run");
  if (!options.dump.empty()) {
    TLM_TRY(std::vector<HostTensor> steps,
            runKeepingSteps(*model, inputs, outputs));
    TLM_TRY(std::string bytes, npzBytes(steps));
    TLM_TRY_STATUS(writeFileAtomically(options.dump, bytes));
  } else if (options.profile) {
    Profile profile(*model);
    TLM_TRY_STATUS(model->run(inputs, outputs));
    TLM_TRY_STATUS(model->run(inputs, outputs, profile.hook()));
    double peak = measurePeakGflops(std::max(1, options.load.threads));
    std::fputs(profile.table(peak).c_str(), stdout);
    report["kernels"] = profile.json(peak);
  } else if (!options.trace.empty()) {
    Trace trace(*model, 1);
    TLM_TRY_STATUS(model->run(inputs, outputs, trace.hook(0)));
    trace.endRun(0);
    TLM_TRY_STATUS(writeFileAtomically(options.trace, trace.text()));
  } else {
    TLM_TRY_STATUS(model->run(inputs, outputs));
  }
  for (const HostTensor &output : outputs) {
    if (options.printed)
      std::fputs(tensorText(output, options.printed).c_str(), stdout);
    report["outputs"].push_back(tensorJson(output));
  }
  bool quiet = !options.printed && options.outputs.empty() &&
               options.expected.empty() && !options.profile;
  for (const HostTensor &output : outputs)
    if (quiet)
      std::fputs(tensorText(output, 8).c_str(), stdout);
  for (const std::string &spec : options.outputs)
    TLM_TRY_STATUS(writeOutputs(outputs, spec));
  report["model"] = {{"path", options.model}};
  Status verdict = checkExpected(options, *model, outputs, report);
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  return verdict;
}

} // namespace

Action addRun(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "model.so")->required();
  options->inputs.add(app);
  app.add_option("--output", options->outputs,
                 "@y.npz | @y.npy | NAME=@y.npy | - (stdout)")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  app.add_option("--print-outputs", options->printed,
                 "print so many elements of each output")
      ->expected(0, 1)
      ->default_str("10")
      ->check(CLI::PositiveNumber);
  app.add_option("--expect", options->expected,
                 "compare with @y.npy | @y.npz | NAME=@y.npy; exit 3 when they "
                 "differ")
      ->type_name("SPEC")
      ->allow_extra_args(false);
  options->tolerance.add(app);
  app.add_option("--threads", options->load.threads,
                 "workers (default: TLM_NUM_THREADS, or what the model was "
                 "compiled for)")
      ->check(CLI::Range(1, 1024));
  auto *profile =
      app.add_flag("--profile", options->profile, "print a table of kernels");
  auto *dump =
      app.add_option("--dump", options->dump,
                     "write every step's output to this .npz, by value name")
          ->type_name("FILE")
          ->excludes(profile);
  auto *trace = app.add_option("--trace", options->trace,
                               "write the run for chrome://tracing or "
                               "ui.perfetto.dev")
                    ->type_name("FILE")
                    ->excludes(profile)
                    ->excludes(dump);
  auto *testData = addTestData(app, options->testData);
  for (const char *other :
       {"--input", "--output", "--expect", "--print-outputs"})
    testData->excludes(app.get_option(other));
  for (CLI::Option *other : {profile, dump, trace})
    testData->excludes(other);
  app.add_flag("--poison-arena", options->load.poisonArena,
               "fill the arena with NaN first (a test)");
  return [options, &global] { return run(*options, global); };
}

} // namespace tlm
