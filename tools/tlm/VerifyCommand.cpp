//===- VerifyCommand.cpp - tlm verify -------------------------------------===//

#include "Commands.h"
#include "Expected.h"
#include "Flags.h"
#include "Npy.h"
#include "Report.h"
#include "TemporaryFolder.h"
#include "Verification.h"
#include "base/AtomicFile.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::string model, artifact, dump, testData;
  LoadOptions load;
  CompileFlags compile;
  InputFlags inputs;
  ToleranceFlags tolerance;
};

/// Steps and outputs on `inputs` against the reference; `steps` are dumped.
Result<Verification> verifyOnce(const Options &options, const Graph &graph,
                                LoadedModel &model,
                                const std::vector<HostTensor> &inputs,
                                const GlobalOptions &global) {
  std::vector<HostTensor> outputs;
  TLM_TRY(std::vector<HostTensor> steps,
          runKeepingSteps(model, inputs, outputs));
  if (!options.dump.empty()) {
    TLM_TRY(std::string bytes, npzBytes(steps));
    TLM_TRY_STATUS(writeFileAtomically(options.dump, bytes));
  }
  TLM_TRY(Verification verification,
          compareWithReference(graph, model, inputs, steps, outputs,
                               options.tolerance.tolerance));
  if (global.verbosity > 0)
    for (const VerifiedTensor &tensor : verification.tensors)
      std::printf("%-8s %s %s: %s\n", tensor.comparison.ok ? "ok" : "DIFFERS",
                  tensor.kernel.empty() ? "output" : tensor.kernel.c_str(),
                  tensor.value.c_str(), tensor.comparison.text.c_str());
  std::printf("verify: %s -> %s\n", verification.text().c_str(),
              verification.firstBad() ? "MISMATCH" : "OK");
  return verification;
}

/// Success, or an error of code Mismatch that names the first difference.
Status verdictOf(const Verification &verification) {
  const VerifiedTensor *bad = verification.firstBad();
  if (!bad)
    return success();
  return makeError("first difference: " +
                       (bad->kernel.empty()
                            ? "output '" + bad->value + "'"
                            : "step '" + bad->step + "' (" + bad->kernel +
                                  "), value '" + bad->value + "'") +
                       ": " + bad->comparison.text,
                   {}, ErrorCode::Mismatch);
}

Status verify(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.model));
  TemporaryFolder temporary;
  std::string artifact = options.artifact;
  if (artifact.empty()) {
    if (temporary.path().empty())
      return makeError("cannot make a temporary folder");
    artifact = temporary.path() / "model.so";
    compile.outputPath = artifact;
    compile.stopAfter = Phase::Link;
    showProgress(compile, global);
  } else {
    compile.stopAfter = Phase::Import;
  }
  TLM_TRY(Compilation compilation, compileModel(compile));
  for (const std::string &warning : compilation.warnings)
    warn(global, warning);

  LoadOptions load = options.load;
  TLM_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::open(artifact, load));
  nlohmann::json report = newReport("verify");
  report["model"] = {{"path", options.model}};
  Status verdict = success();
  std::vector<HostTensor> inputs;
  if (options.testData.empty()) {
    TLM_TRY(inputs, options.inputs.make(model->inputs(), global));
  } else {
    TLM_TRY(std::vector<TestData> sets,
            readTestData(options.testData, model->inputs(), model->outputs()));
    verdict = runTestData(*model, sets, options.tolerance.tolerance,
                          report["test_data"]);
    if (!verdict && verdict.error().code != ErrorCode::Mismatch)
      return verdict;
    inputs = std::move(sets[0].inputs);
  }
  TLM_TRY(Verification verification,
          verifyOnce(options, compilation.imported, *model, inputs, global));
  report["verification"] = verification.json();
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  TLM_TRY_STATUS(verdictOf(verification));
  return verdict;
}

} // namespace

Action addVerify(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "model.onnx")->required();
  app.add_option("artifact", options->artifact,
                 "model.so; without it the model is compiled here and now");
  options->inputs.add(app);
  addTestData(app, options->testData)->excludes(app.get_option("--input"));
  options->tolerance.add(app);
  options->compile.add(app);
  app.add_option("--run-threads", options->load.threads,
                 "workers of the run (default: as compiled)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--dump", options->dump,
                 "write every step's output to this .npz, by value name")
      ->type_name("FILE");
  app.add_flag("--poison-arena", options->load.poisonArena,
               "fill the arena with NaN first (a test)");
  return [options, &global] { return verify(*options, global); };
}

} // namespace tlm
