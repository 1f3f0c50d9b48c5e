//===- Commands.h - the subcommands of tlm ----------------------*- C++ -*-===//
//
// One file a subcommand. Results go to stdout, progress and warnings to stderr.
// An exit code of 0 says that what was asked happened.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_COMMANDS_H
#define TLM_TOOLS_COMMANDS_H

#include "base/Result.h"

#include <functional>
#include <string>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace tlm {

/// Flags that every subcommand has.
struct GlobalOptions {
  int verbosity = 0; ///< -v counts up
  bool quiet = false;
  std::string jsonPath; ///< --json

  bool showsProgress() const { return !quiet; }
};

/// What runs when the subcommand was given.
using Action = std::function<Status()>;

/// Declares the flags on `app`.
Action addCompile(CLI::App &app, const GlobalOptions &global);
Action addRun(CLI::App &app, const GlobalOptions &global);
Action addBench(CLI::App &app, const GlobalOptions &global);
Action addVerify(CLI::App &app, const GlobalOptions &global);
Action addExplain(CLI::App &app, const GlobalOptions &global);
Action addInspect(CLI::App &app, const GlobalOptions &global);
Action addCompare(CLI::App &app, const GlobalOptions &global);
Action addOps(CLI::App &app, const GlobalOptions &global);
Action addRecords(CLI::App &app, const GlobalOptions &global);
Action addSpace(CLI::App &app, const GlobalOptions &global);
Action addLang(CLI::App &app, const GlobalOptions &global);
Action addTune(CLI::App &app, const GlobalOptions &global);
Action addCollect(CLI::App &app, const GlobalOptions &global);
Action addTrain(CLI::App &app, const GlobalOptions &global);
Action addAdapt(CLI::App &app, const GlobalOptions &global);
Action addEval(CLI::App &app, const GlobalOptions &global);
Action addSelftest(CLI::App &app, const GlobalOptions &global);

/// "warning: ..." on stderr, unless quiet.
void warn(const GlobalOptions &global, const std::string &message);
/// A line on stderr, unless quiet.
void note(const GlobalOptions &global, const std::string &message);

} // namespace tlm

#endif // TLM_TOOLS_COMMANDS_H
