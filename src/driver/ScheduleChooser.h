//===- ScheduleChooser.h - which schedule a task is compiled with -*- C++
//-*-===//
//
// The first of these that has one:
//   given     the file of CompileOptions::scheduleFile
//   records   the best record of the task on this target (records/Lookup.h)
//   default   the default rules; or plain, where CompileOptions asks for it
// No store is read that the options do not name.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_SCHEDULECHOOSER_H
#define TLM_DRIVER_SCHEDULECHOOSER_H

#include "records/Lookup.h"

#include <optional>
#include <string>

namespace tlm {

struct CompileOptions;

enum class ScheduleSource : int32_t { Given, Records, Default, Plain };
/// "given", "records", "default", "plain".
std::string_view nameOf(ScheduleSource source);

struct ChosenSchedule {
  Schedule schedule;
  ScheduleSource source = ScheduleSource::Default;
  /// Where a store was asked: what it knew.
  std::optional<Lookup> lookup;

  /// "from records, 12.41 us in 5 measurements", "by default rules; records of
  /// other targets only: znver4.8t.3f2a9c0d11e4b870".
  std::string text() const;
};

class ScheduleChooser {
public:
  /// `options` outlives the chooser. An error when the store cannot be read.
  static Result<ScheduleChooser> make(const CompileOptions &options);

  /// An error when the schedule given for the task is no leaf of its space.
  Result<ChosenSchedule> choose(const Task &task) const;

private:
  explicit ScheduleChooser(const CompileOptions &options) : options(&options) {}
  const CompileOptions *options;
  std::optional<Store> store;
};

} // namespace tlm

#endif // TLM_DRIVER_SCHEDULECHOOSER_H
