//===- Main.cpp - tlm -----------------------------------------------------===//
//
// Exit codes: 0 ok, 1 user or model error, 2 bad usage, 3 verify mismatch,
// 4 artifact not for this machine, 70 internal error.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "NearestName.h"
#include "Version.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <unistd.h>

using namespace tlm;

namespace {

constexpr int kUsageExit = 2;
constexpr int kInternalExit = 70;

struct Command {
  const char *name;
  const char *sentence;
  Action (*add)(CLI::App &, const GlobalOptions &);
};

constexpr Command kCommands[] = {
    {"compile", "compile a model into a shared object", addCompile},
    {"run", "run a compiled model once", addRun},
    {"bench", "measure a compiled model", addBench},
    {"verify", "compare a compiled model with the reference, step by step",
     addVerify},
    {"tune", "search for faster schedules by measuring", addTune},
    {"collect", "measure candidates of many kernels, for learning", addCollect},
    {"explain", "show the schedule of every kernel and what else was legal",
     addExplain},
    {"inspect", "show what a model or a compiled model is", addInspect},
    {"compare", "compare two reports of bench", addCompare},
    {"ops", "list the supported ONNX operators", addOps},
    {"space", "show and sample the schedules of a model's tasks", addSpace},
    {"lang", "show tasks and schedules as sentences of the model", addLang},
    {"records", "list, merge, export and import stores of measured schedules",
     addRecords},
    {"train", "train the language model (runs tlm-train)", addTrain},
    {"adapt", "adapt the language model to a machine (runs tlm-train)",
     addAdapt},
    {"eval", "judge a language model (runs tlm-train)", addEval},
    {"selftest", "compile and verify a small built-in model", addSelftest},
};

/// The failed invariant has been printed; say what it means and leave.
void onAbort(int) {
  static constexpr char kText[] =
      "internal error: this is a bug of tlm; please report it\n";
  ssize_t ignored = write(2, kText, sizeof(kText) - 1);
  (void)ignored;
  _exit(kInternalExit);
}

void collectFlags(const CLI::App &app, std::vector<std::string> &flags) {
  for (const CLI::Option *option : const_cast<CLI::App &>(app).get_options()) {
    for (const std::string &name : option->get_lnames())
      flags.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      flags.push_back("-" + name);
  }
}

/// CLI11's message, with the nearest flag or subcommand for a typo.
int usageError(CLI::App &app, const CLI::ParseError &error, int argc,
               char **argv) {
  std::fprintf(stderr, "error: %s\n", error.what());
  std::vector<std::string> names;
  std::vector<CLI::App *> chosen = app.get_subcommands();
  const CLI::App &scope = chosen.empty() ? app : *chosen[0];
  collectFlags(scope, names);
  if (chosen.empty())
    for (const Command &command : kCommands)
      names.emplace_back(command.name);
  for (int i = 1; i < argc; ++i) {
    std::string word(argv[i]);
    word = word.substr(0, word.find('='));
    bool flagLike = word.size() > 1 && word[0] == '-';
    if ((!flagLike && !(chosen.empty() && i == 1)) ||
        std::find(names.begin(), names.end(), word) != names.end())
      continue;
    std::string nearest = nearestName(word, names);
    if (!nearest.empty())
      std::fprintf(stderr, "hint: did you mean %s instead of %s?\n",
                   nearest.c_str(), word.c_str());
  }
  std::fprintf(stderr, "hint: tlm %s%s--help lists the flags\n",
               chosen.empty() ? "" : chosen[0]->get_name().c_str(),
               chosen.empty() ? "" : " ");
  return kUsageExit;
}

int report(const Status &status) {
  if (status)
    return 0;
  const Error &error = status.error();
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return int(error.code);
}

} // namespace

void tlm::warn(const GlobalOptions &global, const std::string &message) {
  if (!global.quiet)
    std::fprintf(stderr, "warning: %s\n", message.c_str());
}

void tlm::note(const GlobalOptions &global, const std::string &message) {
  if (!global.quiet)
    std::fprintf(stderr, "%s\n", message.c_str());
}

int main(int argc, char **argv) {
  std::signal(SIGABRT, onAbort);
  CLI::App app{"tlm compiles neural networks to native code", "tlm"};
  GlobalOptions global;
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       std::string("tlm ") + kVersion + " (" + kCommit +
                           ", LLVM " + kLlvmVersion +
                           ", ONNX IR 3 and newer, opset 7 and newer)");
  std::vector<std::pair<CLI::App *, Action>> actions;
  for (const Command &command : kCommands) {
    CLI::App *sub = app.add_subcommand(command.name, command.sentence);
    sub->add_flag("-v,--verbose", global.verbosity, "say more; -vv even more");
    sub->add_flag("-q,--quiet", global.quiet, "results and errors only");
    sub->add_option("--json", global.jsonPath, "write a report to this file")
        ->type_name("FILE");
    actions.emplace_back(sub, command.add(*sub, global));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help and --version
      return app.exit(error);
    return usageError(app, error, argc, argv);
  }
  for (auto &[sub, action] : actions)
    if (sub->parsed())
      return report(action());
  return kUsageExit;
}
