//===- ExplainCommand.cpp - tlm explain -----------------------------------===//

#include "NetworkTasks.h"
#include "Report.h"
#include "base/AtomicFile.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace tlm {
namespace {

struct Options {
  std::string model, output;
  CompileFlags compile;
};

struct Explained {
  DecisionPoint point;
  int64_t value = 0;
};

/// Every decision of the schedule's path with its choices.
std::vector<Explained> explainedPath(const Space &space,
                                     const Schedule &schedule) {
  std::vector<Explained> path;
  space.write([&](const DecisionPoint &point) {
    int64_t value =
        schedule.get(point.decision, point.subject, point.choices[0]);
    path.push_back({point, value});
    return value;
  });
  return path;
}

std::string choicesText(const DecisionPoint &point) {
  std::string text;
  for (size_t i = 0; i < point.choices.size(); ++i) {
    if (i == 12 && point.choices.size() > 14) {
      text += " ... " + valueText(point.decision, point.choices.back());
      break;
    }
    text += (i ? " " : "") + valueText(point.decision, point.choices[i]);
  }
  return text;
}

void print(const NetworkTask &entry, const Space &space,
           const Schedule &schedule, const std::string &source,
           nlohmann::json &list) {
  double size = space.log10Size();
  std::printf("%s  x%lld  %s\n  10^%.1f schedules; this one: %s\n",
              entry.task.label().c_str(),
              static_cast<long long>(entry.calls[0]), entry.task.key().c_str(),
              size, source.c_str());
  std::vector<Explained> path = explainedPath(space, schedule);
  nlohmann::json decisions = nlohmann::json::array();
  for (const Choice &choice : schedule.choices) {
    std::string name(nameOf(choice.decision));
    if (!choice.subject.empty())
      name += ' ' + choice.subject;
    std::string value = valueText(choice.decision, choice.value);
    const Explained *asked = nullptr;
    for (const Explained &each : path)
      if (each.point.decision == choice.decision &&
          each.point.subject == choice.subject)
        asked = &each;
    if (asked)
      std::printf("  %-20s %-16s of %3zu: %s\n", name.c_str(), value.c_str(),
                  asked->point.choices.size(),
                  choicesText(asked->point).c_str());
    else
      std::printf("  %-20s %-16s the only one\n", name.c_str(), value.c_str());
    decisions.push_back(
        {{"decision", nameOf(choice.decision)},
         {"subject", choice.subject},
         {"value", value},
         {"choices", asked ? asked->point.choices.size() : size_t(1)}});
  }
  std::printf("\n");
  list.push_back({{"key", entry.task.key()},
                  {"label", entry.task.label()},
                  {"calls", entry.calls[0]},
                  {"log10_size", size},
                  {"source", source},
                  {"decisions", decisions}});
}

Status explain(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.model));
  TLM_TRY(std::vector<NetworkTask> tasks,
          networkTasks({options.model}, options.compile));
  nlohmann::json report = newReport("explain");
  nlohmann::json list = nlohmann::json::array();
  std::string text;
  for (const NetworkTask &entry : tasks) {
    Space space(entry.task, compile.target, compile.schedule);
    const ScheduleFile *file =
        compile.scheduleFile ? &*compile.scheduleFile : nullptr;
    const Schedule *given = file ? file->find(entry.task.key()) : nullptr;
    if (given)
      TLM_TRY_STATUS(file->check(entry.task.key(), space));
    Schedule schedule =
        given ? *given
              : defaultSchedule(entry.task, compile.target, compile.schedule);
    print(entry, space, schedule, given ? "given" : "by default rules", list);
    text += "# " + entry.task.label() + '\n' + schedule.text() + '\n';
  }
  if (!options.output.empty())
    TLM_TRY_STATUS(writeFileAtomically(options.output, text));
  report["kernels"] = list;
  return writeReport(report, global.jsonPath);
}

} // namespace

Action addExplain(CLI::App &app, const GlobalOptions &global) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "model.onnx, or a task text (*.task)")
      ->required();
  app.add_option("-o,--output", options->output,
                 "write the schedules here, to be edited and given to "
                 "--schedule-from")
      ->type_name("FILE");
  options->compile.add(app);
  return [options, &global] { return explain(*options, global); };
}

} // namespace tlm
