//===- SelftestCommand.cpp - tlm selftest ---------------------------------===//

#include "Commands.h"
#include "Flags.h"
#include "Report.h"
#include "SelftestModel.h"
#include "TemporaryFolder.h"
#include "Verification.h"
#include "base/AtomicFile.h"
#include "target/Target.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  CompileFlags compile;
};

/// Compiles the built-in model; returns how it agrees with the reference.
Result<std::string> verifyBuild(const CompileOptions &compile) {
  TLM_TRY(Compilation compilation, compileModel(compile));
  TLM_TRY(std::unique_ptr<LoadedModel> model,
          LoadedModel::open(compile.outputPath, {}));
  TLM_TRY(std::vector<HostTensor> inputs, makeInputs(model->inputs(), {}, 0));
  std::vector<HostTensor> outputs;
  TLM_TRY(std::vector<HostTensor> steps,
          runKeepingSteps(*model, inputs, outputs));
  TLM_TRY(Verification verification,
          compareWithReference(compilation.imported, *model, inputs, steps,
                               outputs, {}));
  if (const VerifiedTensor *bad = verification.firstBad())
    return makeError("value '" + bad->value + "' " + bad->comparison.text, {},
                     ErrorCode::Mismatch);
  return verification.text();
}

/// Every thread count must give the same bits, also in an arena of NaN.
Result<std::string> sameBits(const std::string &path) {
  std::vector<HostTensor> expected;
  auto most = int32_t(usableCpus() + 1);
  for (int32_t threads = 1; threads <= most; ++threads) {
    TLM_TRY(std::unique_ptr<LoadedModel> model,
            LoadedModel::open(path, {threads, /*poisonArena=*/true}));
    TLM_TRY(std::vector<HostTensor> inputs, makeInputs(model->inputs(), {}, 0));
    std::vector<HostTensor> outputs;
    TLM_TRY_STATUS(model->run(inputs, outputs));
    if (threads == 1)
      expected = outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].data != expected[i].data)
        return makeError(std::to_string(threads) +
                             " threads give other bits than one",
                         {}, ErrorCode::Mismatch);
  }
  return "1 to " + std::to_string(most) + " threads, poisoned arena";
}

Status selftest(const Options &options, const GlobalOptions &global) {
  TemporaryFolder folder;
  if (folder.path().empty())
    return makeError("cannot make a temporary folder");
  std::string model = folder.path() / "selftest.onnx";
  TLM_TRY_STATUS(writeFileAtomically(model, selftestModel()));
  TLM_TRY(CompileOptions compile, options.compile.options(model));
  if (std::string missing = missingFeature(compile.target); !missing.empty())
    return makeError("selftest runs what it compiles, and this machine lacks " +
                         missing,
                     {}, ErrorCode::Machine);
  compile.stopAfter = Phase::Link;

  struct Check {
    const char *name;
    std::function<Result<std::string>()> run;
  };
  std::string artifact = folder.path() / "default.so";
  const Check checks[] = {
      {"default schedules",
       [&] {
         compile.outputPath = artifact;
         return verifyBuild(compile);
       }},
      {"same bits", [&] { return sameBits(artifact); }},
      {"plain schedules",
       [&] {
         compile.outputPath = folder.path() / "plain.so";
         compile.plainSchedules = true;
         return verifyBuild(compile);
       }},
  };
  nlohmann::json report = newReport("selftest");
  Status verdict = success();
  for (const Check &check : checks) {
    Result<std::string> detail = check.run();
    const std::string &text = detail ? *detail : detail.error().message;
    if (global.showsProgress() || !detail)
      std::printf("%-18s %s -> %s\n", check.name, text.c_str(),
                  detail ? "OK" : "FAILED");
    report["checks"].push_back(
        {{"name", check.name}, {"ok", detail.ok()}, {"detail", text}});
    if (!detail && verdict)
      verdict = makeError(std::string("selftest: ") + check.name + ": " + text,
                          "this is a bug of tlm; please report it",
                          detail.error().code);
  }
  report["ok"] = verdict.ok();
  std::printf("selftest: %s, %zu checks -> %s\n", compile.target.cpu.c_str(),
              std::size(checks), verdict ? "OK" : "FAILED");
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  return verdict;
}

} // namespace

Action addSelftest(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  options->compile.add(app);
  return [options, &global] { return selftest(*options, global); };
}

} // namespace tlm
