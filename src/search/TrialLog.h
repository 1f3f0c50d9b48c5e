//===- TrialLog.h - what a search tells and asks its records ----*- C++ -*-===//

#ifndef TLM_SEARCH_TRIALLOG_H
#define TLM_SEARCH_TRIALLOG_H

#include "records/Measurement.h"
#include "space/Schedule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tlm {

/// A candidate and what became of it.
struct Trial {
  Schedule schedule;
  Measurement measurement;
  int64_t number = 0; ///< in its search; the default schedule's is 0
};

/// The memory of the searches of one task, beyond this process.
class TrialLog {
public:
  virtual ~TrialLog() = default;
  /// What became of a candidate in an earlier search, measured at least so many
  /// times in turn with others. It is not measured again.
  virtual std::optional<Measurement> find(const Schedule &schedule,
                                          int32_t rounds) = 0;
  /// Trials that have just been measured, together.
  virtual void add(const std::vector<Trial> &trials) = 0;
};

} // namespace tlm

#endif // TLM_SEARCH_TRIALLOG_H
