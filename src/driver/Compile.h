//===- Compile.h - from model.onnx to model.so ------------------*- C++ -*-===//
//
// The phases of Phases.h, in their order, over one options struct. Everything
// that a phase makes stays in the Compilation, so the caller can print, verify
// or write any of it.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_COMPILE_H
#define TLM_DRIVER_COMPILE_H

#include "base/Result.h"
#include "driver/Artifact.h"
#include "driver/Phases.h"
#include "driver/ScheduleChooser.h"
#include "graph/Graph.h"
#include "import/ImportOptions.h"
#include "import/ModelSummary.h"
#include "lower/Kernel.h"
#include "partition/Plan.h"
#include "space/DefaultSchedule.h"
#include "space/ScheduleFile.h"
#include "target/Target.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tlm {

struct Compilation;

struct CompileOptions {
  std::string modelPath;
  ImportOptions import;
  Target target; ///< with the threads that schedules are made for

  /// Last phase to run; texts and objects need no Link.
  Phase stopAfter = Phase::Link;
  /// The artifact's path; used from Link on.
  std::string outputPath;
  /// Keep payloads, scripts, LLVM IR and assembly in the kernels.
  bool keepTexts = false;
  /// What the default schedules may use.
  ScheduleOptions schedule;
  /// The plain schedule everywhere: a second path to compare with.
  bool plainSchedules = false;
  /// Schedules for some of the tasks; they must be leaves of their spaces, and
  /// one of them must be of a task of the model.
  std::optional<ScheduleFile> scheduleFile;
  /// A store whose best schedules are used for the other tasks; empty: none.
  std::string recordsPath;
  /// The language model that writes the schedules of those that are left;
  /// nothing: the default rules do. Not with plainSchedules.
  std::optional<WriterOptions> writer;
  /// So many of its best answers for every task are measured, and the default
  /// schedule; the fastest is used. 0: none is.
  int64_t measured = 0;
  /// Threads that compile; 0 = usableCpus().
  int64_t jobs = 0;

  /// Whether the SelfCheck phase runs the kernels (KernelCheck.h).
  bool checkKernels = true;
  /// The Verify phase; returns the detail of its line. When it fails, the
  /// artifact is removed again. Empty: nothing is run.
  std::function<Result<std::string>(const Compilation &)> verifyArtifact;
  /// For tests of the fallback: called for the kernel of every task before its
  /// check, and not for a kernel that replaces a wrong one.
  std::function<void(size_t task, Kernel &kernel)> damageKernel;
  /// Called once the file has been read, before the Import phase ends.
  std::function<void(const ModelSummary &)> described;
  /// Called when a phase has ended.
  std::function<void(const PhaseReport &)> progress;

  /// Whether the phase is one of this compilation.
  bool runs(Phase phase) const;
};

/// What the Inference phase did.
struct InferenceReport {
  double loadSeconds = 0, writeSeconds = 0;
  int64_t tokensRead = 0, tokensWritten = 0;
  int64_t written = 0;         ///< tasks whose schedule the model wrote
  int64_t withoutDecision = 0; ///< tasks with a single schedule
  int64_t refused = 0;         ///< tasks that it could not read or answer
  std::string firstRefusal;    ///< label and reason
  /// Why optional weights were left out, and what was done instead; or empty.
  std::string unusable;

  /// The detail of the phase's line.
  std::string text() const;
};

/// What the Lower phase took for one task, a rejected first schedule included.
struct LowerTime {
  double seconds = 0;    ///< wall clock
  double cpuSeconds = 0; ///< of the thread that did it: whatever else runs
};

struct Compilation {
  ModelSummary summary;
  Graph imported; ///< before the passes; what `verify` interprets
  Graph graph;
  Plan plan;
  /// Per task of the plan: where its first schedule is from.
  std::vector<ChosenSchedule> chosen;
  std::optional<InferenceReport> inference;
  std::vector<Schedule> schedules;   ///< per task of the plan
  std::vector<Kernel> kernels;       ///< per task of the plan
  std::vector<LowerTime> lowerTimes; ///< per task of the plan
  /// Per task of the plan: why its first schedule was given up for the default
  /// one, and that one for the plain one; or empty.
  std::vector<std::string> fallbackReasons;
  ArtifactSummary artifact;
  std::vector<PhaseReport> phases;
  /// Of the import, and one for each fallback.
  std::vector<std::string> warnings;

  /// What writeArtifact and headerText want.
  ArtifactInput artifactInput(const CompileOptions &options) const;
};

/// An error is the user's (model, flags, disk), or a task whose plain kernel
/// fails too. A schedule that is rejected or gives a wrong kernel falls back to
/// the default schedule, and that one to the plain schedule, with a warning.
Result<Compilation> compileModel(const CompileOptions &options);

} // namespace tlm

#endif // TLM_DRIVER_COMPILE_H
