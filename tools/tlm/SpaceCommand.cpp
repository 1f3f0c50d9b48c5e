//===- SpaceCommand.cpp - tlm space ---------------------------------------===//

#include "Report.h"
#include "SpaceSample.h"
#include "TaskFiles.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::vector<std::string> paths;
  CompileFlags compile;
  std::string tasksTo;
  SampleOptions sample;
  uint64_t seed = 1;
};

/// The decisions below one algorithm, on the path with the middle values.
std::vector<DecisionPoint> decisionsOf(const Space &space,
                                       Algorithm algorithm) {
  std::vector<DecisionPoint> points;
  space.write([&](const DecisionPoint &point) {
    if (point.decision == Decision::Algorithm)
      return int64_t(algorithm);
    points.push_back(point);
    return point.choices[point.choices.size() / 2];
  });
  return points;
}

/// "register_row f: 3  tile_rows: 4"
std::string decisionsText(const std::vector<DecisionPoint> &points) {
  std::string text;
  for (const DecisionPoint &point : points) {
    text += (text.empty() ? "" : "  ") + std::string(nameOf(point.decision));
    if (!point.subject.empty())
      text += ' ' + point.subject;
    text += ": " + std::to_string(point.choices.size());
  }
  return text.empty() ? "nothing to decide" : text;
}

nlohmann::json decisionsJson(const std::vector<DecisionPoint> &points) {
  nlohmann::json list = nlohmann::json::array();
  for (const DecisionPoint &point : points)
    list.push_back({{"decision", nameOf(point.decision)},
                    {"subject", point.subject},
                    {"choices", point.choices}});
  return list;
}

Status show(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  TLM_TRY(std::vector<Task> tasks,
          readTasks(options.paths, options.compile, global));
  nlohmann::json report = newReport("space show");
  nlohmann::json list = nlohmann::json::array();
  for (const Task &task : tasks) {
    Space space(task, compile.target, compile.schedule);
    double size = space.log10Size();
    std::printf("%s  %s  10^%.1f schedules\n", task.key().c_str(),
                task.label().c_str(), size);
    nlohmann::json algorithms = nlohmann::json::object();
    for (Algorithm algorithm : {Algorithm::Direct, Algorithm::WinogradBlocked,
                                Algorithm::WinogradStaged, Algorithm::Plain}) {
      if (!space.offers(algorithm))
        continue;
      std::string name = valueText(Decision::Algorithm, int64_t(algorithm));
      std::vector<DecisionPoint> points = decisionsOf(space, algorithm);
      std::printf("  %s: %s\n", name.c_str(), decisionsText(points).c_str());
      algorithms[name] = decisionsJson(points);
    }
    list.push_back({{"key", task.key()},
                    {"label", task.label()},
                    {"log10_size", size},
                    {"algorithms", algorithms}});
  }
  report["tasks"] = list;
  return writeReport(report, global.jsonPath);
}

Status sample(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.paths[0]));
  if (std::string missing = missingFeature(compile.target);
      options.sample.run && !missing.empty())
    return makeError("--run runs what it builds, and this machine lacks " +
                         missing,
                     {}, ErrorCode::Machine);
  TLM_TRY(std::vector<Task> tasks,
          readTasks(options.paths, options.compile, global));
  if (!options.tasksTo.empty())
    return writeTasks(tasks, options.tasksTo);
  std::printf("%zu tasks for %s, %lld threads\n", tasks.size(),
              compile.target.cpu.c_str(),
              static_cast<long long>(compile.target.threads));
  SpaceSampler sampler(tasks, compile.target, compile.schedule, options.seed);
  SampleOptions wanted = options.sample;
  wanted.target = compile.target;
  wanted.jobs = compile.jobs ? compile.jobs : usableCpus();
  nlohmann::json report = newReport("space sample");
  report["tasks"] = tasks.size();
  report["seed"] = options.seed;
  if (!wanted.check && !wanted.build && !wanted.run) {
    for (int64_t i = 0; i < wanted.count; ++i)
      std::printf("%s", sampler.schedule(i).text().c_str());
    return writeReport(report, global.jsonPath);
  }
  Status status = trySamples(sampler, wanted, global, report);
  TLM_TRY_STATUS(writeReport(report, global.jsonPath));
  return status;
}

} // namespace

Action addSpace(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App *shown = app.add_subcommand(
      "show", "the decisions of every task and how many schedules it has");
  addTaskPaths(*shown, options->paths, options->compile);
  CLI::App *drawn = app.add_subcommand(
      "sample", "draw schedules, spread over kinds of tasks, and try them");
  addTaskPaths(*drawn, options->paths, options->compile);
  drawn->add_option("--count", options->sample.count, "schedules to draw")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->capture_default_str();
  drawn->add_option("--seed", options->seed, "of the draws")
      ->capture_default_str();
  drawn->add_flag("--check", options->sample.check,
                  "judge each by the independent checker, and time it");
  drawn->add_flag("--build", options->sample.build, "compile each");
  drawn->add_flag("--run", options->sample.run,
                  "compile each and compare it with what its task says");
  drawn
      ->add_option("--tasks-to", options->tasksTo,
                   "only write the tasks into this folder, a text each")
      ->type_name("DIR");
  return [options, drawn, &global] {
    return drawn->parsed() ? sample(*options, global) : show(*options, global);
  };
}

} // namespace tlm
