//===- TrainCommand.cpp - tlm train, tlm adapt, tlm eval ------------------===//
//
// Another program does the work, so that tlm does not link libtorch.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace tlm {
namespace {

/// Everything behind the name goes to tlm-train; returns only on failure.
Status runTrainProgram(const std::string &name,
                       const std::vector<std::string> &words) {
  std::error_code failed;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", failed);
  std::string program = (self.parent_path() / "tlm-train").string();
  std::vector<std::string> all = {program, name};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char *> arguments;
  for (std::string &word : all)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(stdout);
  execv(program.c_str(), arguments.data());
  if (errno == ENOENT)
    return makeError("tlm-train is not beside tlm",
                     "it is built where there is a libtorch: scripts/install "
                     "--train, scripts/build",
                     ErrorCode::Machine);
  return makeError("cannot run " + program + ": " + std::strerror(errno), {},
                   ErrorCode::Machine);
}

Action addForwarded(CLI::App &app) {
  // Flags, --help too, are tlm-train's.
  app.set_help_flag();
  app.prefix_command();
  return [&app] { return runTrainProgram(app.get_name(), app.remaining()); };
}

} // namespace

Action addTrain(CLI::App &app, const GlobalOptions &) {
  return addForwarded(app);
}
Action addAdapt(CLI::App &app, const GlobalOptions &) {
  return addForwarded(app);
}
Action addEval(CLI::App &app, const GlobalOptions &) {
  return addForwarded(app);
}

} // namespace tlm
