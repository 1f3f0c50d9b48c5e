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
           const ChosenSchedule &chosen, nlohmann::json &list) {
  const Schedule &schedule = chosen.schedule;
  double size = space.log10Size();
  std::printf("%s  x%lld  %s\n  10^%.1f schedules; this one: %s\n",
              entry.task.label().c_str(),
              static_cast<long long>(entry.calls[0]), entry.task.key().c_str(),
              size, chosen.text().c_str());
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
                  {"source", nameOf(chosen.source)},
                  {"source_text", chosen.text()},
                  {"decisions", decisions}});
}

Status explain(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.model));
  TLM_TRY(std::vector<NetworkTask> tasks,
          networkTasks({options.model}, options.compile));
  TLM_TRY(ScheduleChooser chooser, ScheduleChooser::make(compile));
  nlohmann::json report = newReport("explain");
  nlohmann::json list = nlohmann::json::array();
  std::string text;
  for (const NetworkTask &entry : tasks) {
    Space space(entry.task, compile.target, compile.schedule);
    TLM_TRY(ChosenSchedule chosen, chooser.choose(entry.task));
    print(entry, space, chosen, list);
    text += "# " + entry.task.label() + '\n' + chosen.schedule.text() + '\n';
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
  options->compile.addRecords(app);
  return [options, &global] { return explain(*options, global); };
}

} // namespace tlm
