//===- Flags.h - flags that several subcommands share -----------*- C++ -*-===//

#ifndef TLM_TOOLS_FLAGS_H
#define TLM_TOOLS_FLAGS_H

#include "Commands.h"
#include "InputSpec.h"
#include "TensorCompare.h"
#include "driver/Compile.h"

#include <string>
#include <vector>

namespace tlm {

/// The released weights of the language model in this installation or working
/// copy, or empty.
std::string installedModel();

/// How a model is compiled: --shape, --dim, --mcpu, --mattr, --threads,
/// --schedules, --schedule-from, --approx, -O, --jobs.
class CompileFlags {
public:
  void add(CLI::App &app);
  /// --records, --model, --samples, --measure and more of --schedules, for who
  /// compiles with what is recorded or with the language model. Where no source
  /// is named, the language model of this installation writes the schedules.
  void addSources(CLI::App &app);
  Result<CompileOptions> options(const std::string &modelPath) const;
  /// With -v: that the installation has no language model, where it would have
  /// been asked.
  void noteMissingModel(const CompileOptions &options,
                        const GlobalOptions &global) const;

private:
  bool namesNoSource() const;
  Status addWriter(CompileOptions &options) const;

  std::vector<std::string> shapes, dims, features;
  std::vector<std::string> sources{"default", "plain"}; ///< of --schedules
  std::string cpu = "host", schedules, scheduleFrom, approximate = "on",
              records, model;
  bool hasSources = false, noRecords = false;
  int64_t threads = 0, jobs = 0, level = 2, samples = 1, measured = 0;
  uint64_t seed = 0;
};

/// --input and --seed.
struct InputFlags {
  std::vector<std::string> inputs;
  uint64_t seed = 0;

  void add(CLI::App &app);
  /// makeInputs, with a note about the inputs that were filled.
  Result<std::vector<HostTensor>> make(const std::vector<TensorSpec> &signature,
                                       const GlobalOptions &global) const;
};

/// --rtol and --atol.
struct ToleranceFlags {
  Tolerance tolerance;

  void add(CLI::App &app);
};

/// --test-data.
CLI::Option *addTestData(CLI::App &app, std::string &folder);

/// Prints "[2/7] graph  0.01 s  ..." lines to stderr.
void showProgress(CompileOptions &options, const GlobalOptions &global);

/// "[{name, seconds, peak_bytes, detail}]" as table text for --timing.
std::string timingTable(const std::vector<PhaseReport> &phases);

} // namespace tlm

#endif // TLM_TOOLS_FLAGS_H
