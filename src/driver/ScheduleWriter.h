//===- ScheduleWriter.h - schedules from the language model -----*- C++ -*-===//
//
// All tasks are one batch: their sentences begin with the machine, which is
// read once, and the answers are written together, under the masks of their
// spaces:
//
//   [HW] machine           once
//     [TASK] task          once a task
//       [Q] q0.99 [ANS]    the likeliest answer, and drawn ones
//       [Q] [?] [ANS]      the same answers again, to be ranked
//
// What is written depends on the task, the target, the weights and the options
// alone: not on the other tasks, the threads or the machine that it runs on.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_SCHEDULEWRITER_H
#define TLM_DRIVER_SCHEDULEWRITER_H

#include "model/LanguageModel.h"
#include "space/Space.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tlm {

struct WriterOptions {
  std::string folder = {}; ///< of the weights (model/GptParameters.h)
  int64_t samples = 1;     ///< answers a task, the likeliest one among them
  uint64_t seed = 0;       ///< of the drawn ones
  float temperature = 1;   ///< of the drawn ones; above 0
  /// Whether weights that cannot be used are a warning, and default rules stay.
  bool isOptional = false;
  /// Whether the model judges a single answer, too, which ranks nothing.
  bool judgesAlways = false;
};

struct WrittenSchedule {
  Schedule schedule;
  /// Of the choice taken at every decision that the Space asks, in its order.
  std::vector<float> probabilities;
  double logProbability = 0;
  /// Best-known time / own time that the model expects, where it judged.
  std::optional<double> expectedShare;
};

/// For one task.
struct WrittenSchedules {
  /// All different, the best first: by expectedShare, then by probability.
  std::vector<WrittenSchedule> answers;
  /// Why there is none: the sentence is too long for the weights, or they do
  /// not know its words.
  std::string refused;
  int64_t tokensRead = 0, tokensWritten = 0;
};

class ScheduleWriter {
public:
  /// Refuses what LanguageModel::load refuses.
  static Result<ScheduleWriter> load(const WriterOptions &options);
  ScheduleWriter(LanguageModel model, const WriterOptions &options)
      : model(std::move(model)), options(options) {}

  /// One entry a task; nothing is asked, and nothing refused, where the Space
  /// has one schedule.
  std::vector<WrittenSchedules> write(std::span<const Task *const> tasks,
                                      const Target &target,
                                      const ScheduleOptions &scheduleOptions,
                                      int threads) const;

private:
  LanguageModel model;
  WriterOptions options;
};

} // namespace tlm

#endif // TLM_DRIVER_SCHEDULEWRITER_H
