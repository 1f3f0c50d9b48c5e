//===- ExplainCommand.cpp - tlm explain -----------------------------------===//

#include "NetworkTasks.h"
#include "Report.h"
#include "base/AtomicFile.h"
#include "driver/LanguageSource.h"

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

/// "p 0.031 ".
std::string probabilityText(float probability) {
  char text[32];
  std::snprintf(text, sizeof(text), "p %.3f ", double(probability));
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
  const WrittenSchedule *written = chosen.writtenSchedule();
  TLM_CHECK(!written || written->probabilities.size() == path.size())
      << entry.task.key();
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
    float probability =
        written && asked ? written->probabilities[size_t(asked - path.data())]
                         : 1;
    if (asked)
      std::printf("  %-20s %-16s %sof %3zu: %s\n", name.c_str(), value.c_str(),
                  written ? probabilityText(probability).c_str() : "",
                  asked->point.choices.size(),
                  choicesText(asked->point).c_str());
    else
      std::printf("  %-20s %-16s the only one\n", name.c_str(), value.c_str());
    decisions.push_back(
        {{"decision", nameOf(choice.decision)},
         {"subject", choice.subject},
         {"value", value},
         {"choices", asked ? asked->point.choices.size() : size_t(1)}});
    if (written)
      decisions.back()["probability"] = probability;
  }
  std::printf("\n");
  list.push_back({{"key", entry.task.key()},
                  {"label", entry.task.label()},
                  {"calls", entry.calls[0]},
                  {"log10_size", size},
                  {"source", nameOf(chosen.source)},
                  {"source_text", chosen.text()},
                  {"decisions", decisions}});
  if (written)
    list.back()["log_probability"] = written->logProbability;
  if (written && written->expectedShare)
    list.back()["expected_share"] = *written->expectedShare;
}

/// As compileModel does.
Result<std::vector<ChosenSchedule>>
chooseAll(CompileOptions &compile, const std::vector<NetworkTask> &entries) {
  TLM_TRY(ScheduleChooser chooser, ScheduleChooser::make(compile));
  std::vector<Task> tasks;
  std::vector<ChosenSchedule> chosen;
  for (const NetworkTask &entry : entries) {
    TLM_TRY(ChosenSchedule each, chooser.choose(entry.task));
    chosen.push_back(std::move(each));
    tasks.push_back(entry.task);
  }
  if (compile.writer) {
    compile.writer->judgesAlways = true;
    TLM_TRY(InferenceReport report, writeSchedules(compile, tasks, chosen));
    std::printf(
        "%s\n\n",
        (report.unusable.empty() ? report.text() : report.unusable).c_str());
  }
  if (compile.measured) {
    TLM_TRY(std::string detail, measureSchedules(compile, tasks, chosen));
    std::printf("%s\n\n", detail.c_str());
  }
  return chosen;
}

Status explain(const Options &options, const GlobalOptions &global) {
  TLM_TRY(CompileOptions compile, options.compile.options(options.model));
  options.compile.noteMissingModel(compile, global);
  TLM_TRY(std::vector<NetworkTask> tasks,
          networkTasks({options.model}, options.compile));
  TLM_TRY(std::vector<ChosenSchedule> chosen, chooseAll(compile, tasks));
  nlohmann::json report = newReport("explain");
  nlohmann::json list = nlohmann::json::array();
  std::string text;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Task &task = tasks[i].task;
    print(tasks[i], Space(task, compile.target, compile.schedule), chosen[i],
          list);
    text += "# " + task.label() + '\n' + chosen[i].schedule.text() + '\n';
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
  options->compile.addSources(app);
  return [options, &global] { return explain(*options, global); };
}

} // namespace tlm
