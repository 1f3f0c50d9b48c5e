#include "driver/ScheduleChooser.h"

#include "driver/Compile.h"

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
  }
  return "?";
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
  std::string text =
      source == ScheduleSource::Plain ? "plain" : "by default rules";
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
