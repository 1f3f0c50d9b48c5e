#include "driver/ScheduleChooser.h"

#include "driver/Compile.h"

#include <cmath>
#include <cstdio>

using namespace tlm;

std::string_view tlm::nameOf(ScheduleSource source) {
  switch (source) {
  case ScheduleSource::Given:
    return "given";
  case ScheduleSource::Records:
    return "records";
  case ScheduleSource::Default:
    return "default";
  case ScheduleSource::Plain:
    return "plain";
  case ScheduleSource::Model:
    return "model";
  }
  return "?";
}

namespace {

/// "by the language model, probability 0.31, the best of 4 different answers".
std::string textOf(const WrittenSchedules &written,
                   const WrittenSchedule &answer) {
  char text[200];
  std::snprintf(text, sizeof text, "by the language model, probability %.2g",
                std::exp(answer.logProbability));
  std::string all = text;
  if (answer.expectedShare) {
    std::snprintf(text, sizeof text, ", expects %.2f of the best speed",
                  *answer.expectedShare);
    all += text;
  }
  if (size_t count = written.answers.size(); count > 1)
    all += ", of " + std::to_string(count) + " different answers";
  return all;
}

std::string textOf(const MeasuredChoice &measured) {
  char text[160];
  std::snprintf(text, sizeof text,
                "; fastest of %d measured, %.2f us (default %.2f us)",
                int(measured.candidates), measured.microseconds,
                measured.defaultMicroseconds);
  return text;
}

} // namespace

const WrittenSchedule *ChosenSchedule::writtenSchedule() const {
  return source == ScheduleSource::Model ? &written->answers[answer] : nullptr;
}

std::string ChosenSchedule::text() const {
  if (source == ScheduleSource::Given)
    return "given";
  if (source == ScheduleSource::Records) {
    char text[100];
    std::snprintf(text, sizeof text,
                  "from records, %.2f us in %d measurement%s",
                  lookup->candidate.microseconds, int(lookup->candidate.rounds),
                  lookup->candidate.rounds == 1 ? "" : "s");
    return text;
  }
  std::string end = measured ? textOf(*measured) : std::string();
  if (const WrittenSchedule *taken = writtenSchedule())
    return textOf(*written, *taken) + end;
  std::string text =
      source == ScheduleSource::Plain ? "plain" : "by default rules";
  text += end;
  if (written && !written->refused.empty())
    text += "; the language model wrote none: " + written->refused;
  if (!lookup)
    return text;
  text.append("; ").append(nameOf(lookup->outcome));
  return lookup->detail.empty() ? text : text + ": " + lookup->detail;
}

Result<ScheduleChooser> ScheduleChooser::make(const CompileOptions &options) {
  ScheduleChooser chooser(options);
  if (!options.recordsPath.empty()) {
    TLM_TRY(Store store, Store::open(options.recordsPath, Store::Access::Read));
    chooser.store.emplace(std::move(store));
  }
  return chooser;
}

Result<ChosenSchedule> ScheduleChooser::choose(const Task &task) const {
  ChosenSchedule chosen;
  const ScheduleFile *file =
      options->scheduleFile ? &*options->scheduleFile : nullptr;
  std::string key = file ? task.key() : std::string();
  if (const Schedule *given = file ? file->find(key) : nullptr) {
    TLM_TRY_STATUS(
        file->check(key, Space(task, options->target, options->schedule)));
    chosen.schedule = *given;
    chosen.source = ScheduleSource::Given;
    return chosen;
  }
  if (store) {
    Space space(task, options->target, options->schedule);
    TLM_TRY(chosen.lookup, lookUp(*store, task, options->target, space));
    if (chosen.lookup->isFound()) {
      chosen.schedule = chosen.lookup->schedule;
      chosen.source = ScheduleSource::Records;
      return chosen;
    }
  }
  chosen.source =
      options->plainSchedules ? ScheduleSource::Plain : ScheduleSource::Default;
  chosen.schedule =
      options->plainSchedules
          ? plainSchedule(task)
          : defaultSchedule(task, options->target, options->schedule);
  return chosen;
}
