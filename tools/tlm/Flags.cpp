//===- Flags.cpp - flags that several subcommands share -------------------===//

#include "Flags.h"

#include "NearestName.h"
#include "target/x86/Cpuid.h"
#include "target/x86/FeatureSet.h"
#include "target/x86/NamedCpus.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace tlm {
namespace {

/// Applies "+avx2" or "-avx512f".
Status applyFeature(Target &target, const std::string &word) {
  std::vector<std::string_view> known = x86::knownFeatures();
  std::string name = word.substr(word.empty() ? 0 : 1);
  if (word.empty() || (word[0] != '+' && word[0] != '-') ||
      std::find(known.begin(), known.end(), name) == known.end()) {
    std::string nearest =
        nearestName(name, std::vector<std::string>(known.begin(), known.end()));
    return makeError("--mattr '" + word +
                         "': expected +FEATURE or -FEATURE with LLVM's name",
                     nearest.empty() ? "" : "did you mean " + nearest + "?",
                     ErrorCode::Usage);
  }
  if (word[0] == '+')
    x86::addFeature(target.features, name);
  else
    x86::removeFeature(target.features, name);
  return success();
}

} // namespace

void CompileFlags::add(CLI::App &app) {
  app.add_option("--shape", shapes,
                 "shape of an input: x:1x3x224x224 or x:[1,3,224,224]")
      ->type_name("NAME:DIMS")
      ->allow_extra_args(false);
  app.add_option("--dim", dims, "value of a symbolic dim: batch=8")
      ->type_name("SYMBOL=N")
      ->allow_extra_args(false);
  app.add_option("--mcpu", cpu,
                 "processor to compile for: host, x86-64-v3, x86-64-v4 or "
                 "LLVM's name")
      ->capture_default_str();
  app.add_option("--mattr", features, "features to add or remove: +avx2,-fma")
      ->delimiter(',')
      ->type_name("LIST")
      ->allow_extra_args(false);
  app.add_option("--threads", threads,
                 "threads that schedules are made for (default: usable CPUs)")
      ->check(CLI::Range(1, 1024));
  app.add_option("-O", level,
                 "0: plain schedules, quick to read and slow to run; 1 to 3: "
                 "fast ones, all the same today")
      ->check(CLI::Range(0, 3))
      ->type_name("LEVEL")
      ->capture_default_str();
  app.add_option("--schedules", schedules,
                 "default, or plain: loops as written, a second path to "
                 "compare with (default: by -O)")
      ->check(CLI::IsMember(&sources));
  app.add_option("--schedule-from", scheduleFrom,
                 "a file of schedules, as tlm explain and tlm tune write them; "
                 "the other kernels get theirs by --schedules")
      ->type_name("FILE");
  app.add_option("--approx", approximate,
                 "on allows algorithms with a stated error (Winograd: 1e-5 of "
                 "the output's largest value), off excludes them")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_option("--jobs", jobs, "threads that compile (default: usable CPUs)")
      ->check(CLI::Range(1, 1024));
}

void CompileFlags::addSources(CLI::App &app) {
  hasSources = true;
  sources = {"model", "records", "default", "plain"};
  app.get_option("--schedules")
      ->description("model: the language model writes them; records: the best "
                    "ones of --records; default: rules; or plain: loops as "
                    "written, a second path to compare with (default: plain "
                    "with -O0, else model where there are weights, else "
                    "default). What a source does not have is left to default");
  app.add_option("--records", records,
                 "use the best schedules of this store of records (tlm tune, "
                 "tlm collect) for the kernels that --schedule-from does not "
                 "name; default: none")
      ->type_name("STORE");
  app.add_flag("--no-records", noRecords, "as if there were no --records");
  app.add_option("--model", model,
                 "folder of the language model's weights (default: models/tlm "
                 "of this installation); asks for --schedules=model")
      ->type_name("DIR");
  app.add_option("--samples", samples,
                 "answers of the language model for every kernel, of which it "
                 "takes the one that it expects most of")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--measure", measured,
                 "measure the K best answers for every kernel (K are drawn, or "
                 "--samples where that is more) and the default schedule "
                 "here, and take the fastest")
      ->check(CLI::Range(0, 4096))
      ->type_name("K")
      ->capture_default_str();
  app.add_option("--seed", seed, "of the answers that are drawn")
      ->capture_default_str();
}

std::string installedModel() {
  std::error_code failed;
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", failed);
  for (const char *place : {"../share/tlm/models/tlm", "../../models/tlm"}) {
    std::filesystem::path folder =
        (program.parent_path() / place).lexically_normal();
    if (std::filesystem::exists(folder / "config.json", failed))
      return folder;
  }
  return {};
}

bool CompileFlags::namesNoSource() const {
  return hasSources && schedules.empty() && model.empty() && level > 0;
}

void CompileFlags::noteMissingModel(const CompileOptions &options,
                                    const GlobalOptions &global) const {
  if (global.verbosity > 0 && namesNoSource() && !options.writer)
    note(global, "there are no weights of the language model in this "
                 "installation: schedules by default rules");
}

Status CompileFlags::addWriter(CompileOptions &options) const {
  WriterOptions writer;
  writer.folder = model.empty() && hasSources ? installedModel() : model;
  writer.isOptional = namesNoSource();
  bool asked = schedules.empty() ? !model.empty() : schedules == "model";
  if (!asked && !(writer.isOptional && !writer.folder.empty())) {
    if (samples > 1 || measured > 0)
      return makeError(std::string(samples > 1 ? "--samples" : "--measure") +
                           " is for schedules of the language model",
                       "add --schedules=model; tlm tune measures without it",
                       ErrorCode::Usage);
    return success();
  }
  if (writer.folder.empty())
    return makeError("--schedules=model: there are no weights of the language "
                     "model in this installation",
                     "name a folder of weights with --model DIR (tlm train "
                     "makes one), or use --schedules=default");
  writer.samples = std::max(samples, measured);
  writer.seed = seed;
  options.writer = std::move(writer);
  options.measured = measured;
  options.plainSchedules = false;
  return success();
}

Result<CompileOptions>
CompileFlags::options(const std::string &modelPath) const {
  CompileOptions options;
  options.modelPath = modelPath;
  options.jobs = jobs;
  options.plainSchedules =
      schedules.empty() ? level == 0 : schedules == "plain";
  options.schedule.approximate = approximate == "on";
  if (!scheduleFrom.empty()) {
    TLM_TRY(options.scheduleFile, ScheduleFile::read(scheduleFrom));
  }
  if (!noRecords)
    options.recordsPath = records;
  if (schedules == "records" && options.recordsPath.empty())
    return makeError("--schedules=records needs a store of records",
                     "name it with --records STORE", ErrorCode::Usage);
  TLM_TRY_STATUS(addWriter(options));
  for (const std::string &shape : shapes) {
    TLM_TRY(ShapeOverride parsed, parseShape(shape));
    options.import.shapes.push_back(std::move(parsed));
  }
  for (const std::string &dim : dims) {
    TLM_TRY(auto parsed, parseDim(dim));
    options.import.dims.push_back(std::move(parsed));
  }
  TLM_TRY(options.target, targetFor(cpu));
  for (const std::string &feature : features)
    TLM_TRY_STATUS(applyFeature(options.target, feature));
  x86::deriveVectorShape(options.target);
  if (threads)
    options.target.threads = threads;
  return options;
}

void InputFlags::add(CLI::App &app) {
  app.add_option("--input", inputs,
                 "x=@x.npy | @x.npz | @x.pb | f32:1x3x224x224=@raw.bin | "
                 "random | zeros | ones (default random)")
      ->type_name("NAME=SPEC")
      ->allow_extra_args(false);
  app.add_option("--seed", seed, "of random inputs")->capture_default_str();
}

Result<std::vector<HostTensor>>
InputFlags::make(const std::vector<TensorSpec> &signature,
                 const GlobalOptions &global) const {
  std::vector<std::string> filled;
  TLM_TRY(std::vector<HostTensor> tensors,
          makeInputs(signature, inputs, seed, &filled));
  if (global.verbosity > 0)
    for (const std::string &name : filled)
      note(global,
           "input '" + name + "' is random, seed " + std::to_string(seed));
  return tensors;
}

void ToleranceFlags::add(CLI::App &app) {
  app.add_option("--rtol", tolerance.rtol,
                 "relative tolerance (default by type, f32 1e-3)");
  app.add_option("--atol", tolerance.atol,
                 "absolute tolerance (default by type, f32 1e-4 of the largest "
                 "value)");
}

CLI::Option *addTestData(CLI::App &app, std::string &folder) {
  return app
      .add_option("--test-data", folder,
                  "an ONNX test_data_set folder, or a folder of them: inputs "
                  "from input_*.pb, outputs compared with output_*.pb; exit 3 "
                  "when they differ")
      ->type_name("DIR");
}

void showProgress(CompileOptions &options, const GlobalOptions &global) {
  if (!global.showsProgress())
    return;
  int count = 0;
  for (const PhaseInfo &info : phases())
    count += options.runs(info.phase);
  options.progress = [count, done = 0](const PhaseReport &report) mutable {
    std::fprintf(stderr, "[%d/%d] %-11s %6.2f s   %s\n", ++done, count,
                 nameOf(report.phase), report.seconds, report.detail.c_str());
  };
}

std::string timingTable(const std::vector<PhaseReport> &phases) {
  double total = 0;
  for (const PhaseReport &report : phases)
    total += report.seconds;
  std::string text = "phase          seconds      %   peak MiB\n";
  char line[128];
  for (const PhaseReport &report : phases) {
    std::snprintf(line, sizeof(line), "%-12s %9.3f %6.1f %10.1f\n",
                  nameOf(report.phase), report.seconds,
                  100 * report.seconds / total,
                  double(report.peakBytes) / (1 << 20));
    text += line;
  }
  std::snprintf(line, sizeof(line), "%-12s %9.3f\n", "all", total);
  return text + line;
}

} // namespace tlm
