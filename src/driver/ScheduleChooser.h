//===- ScheduleChooser.h - which schedule a task is compiled with -*- C++
//-*-===//
//
// The first of these that has one:
//   given     the file of CompileOptions::scheduleFile
//   records   the best record of the task on this target (records/Lookup.h)
//   model     what the language model writes (LanguageSource.h)
//   default   the default rules; or plain, where CompileOptions asks for it
// No store and no weights are read that the options do not name.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_SCHEDULECHOOSER_H
#define TLM_DRIVER_SCHEDULECHOOSER_H

#include "driver/ScheduleWriter.h"
#include "records/Lookup.h"

#include <optional>
#include <string>

namespace tlm {

struct CompileOptions;

enum class ScheduleSource : int32_t { Given, Records, Default, Plain, Model };
/// "given", "records", "default", "plain", "model".
std::string_view nameOf(ScheduleSource source);

/// What CompileOptions::measured found out about a task.
struct MeasuredChoice {
  int64_t candidates = 0, failed = 0;
  double microseconds = 0; ///< of the fastest, which was chosen
  double defaultMicroseconds = 0;
};

struct ChosenSchedule {
  Schedule schedule;
  ScheduleSource source = ScheduleSource::Default;
  /// Where a store was asked: what it knew.
  std::optional<Lookup> lookup;
  /// Where the language model was asked: its answers, or why there are none.
  std::optional<WrittenSchedules> written;
  size_t answer = 0; ///< source Model: which of them
  std::optional<MeasuredChoice> measured;

  /// Source Model: the answer that was taken; else null.
  const WrittenSchedule *writtenSchedule() const;

  /// "from records, 12.41 us in 5 measurements", "by default rules; records of
  /// other targets only: znver4.8t.3f2a9c0d11e4b870", "by the language model,
  /// probability 0.31".
  std::string text() const;
};

class ScheduleChooser {
public:
  /// `options` outlives the chooser. An error when the store cannot be read.
  static Result<ScheduleChooser> make(const CompileOptions &options);

  /// Leaves what the language model is to write at the default rules. An error
  /// when the schedule given for the task is no leaf of its space.
  Result<ChosenSchedule> choose(const Task &task) const;

private:
  explicit ScheduleChooser(const CompileOptions &options) : options(&options) {}
  const CompileOptions *options;
  std::optional<Store> store;
};

} // namespace tlm

#endif // TLM_DRIVER_SCHEDULECHOOSER_H
