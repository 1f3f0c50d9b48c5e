//===- SpaceSample.h - schedules drawn and tried ----------------*- C++ -*-===//
//
// Draws schedules spread evenly over the kinds of tasks, and over the tasks of
// a kind; sample i is the same whatever else is done.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_SPACESAMPLE_H
#define TLM_TOOLS_SPACESAMPLE_H

#include "Commands.h"
#include "space/Space.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace tlm {

class SpaceSampler {
public:
  SpaceSampler(const std::vector<Task> &tasks, const Target &target,
               const ScheduleOptions &options, uint64_t seed);

  const Task &taskOf(int64_t sample) const { return tasks[indexOf(sample)]; }
  const Space &spaceOf(int64_t sample) const { return spaces[indexOf(sample)]; }
  Schedule schedule(int64_t sample) const;

private:
  size_t indexOf(int64_t sample) const;

  const std::vector<Task> &tasks;
  std::vector<Space> spaces;
  std::vector<std::vector<size_t>> kinds; ///< tasks of each kind there is
  uint64_t seed;
};

/// What is done with the samples [0, count).
struct SampleOptions {
  int64_t count = 1000;
  /// Space::check and checkSchedule, each draw timed.
  bool check = false;
  bool build = false, run = false; ///< run builds, too
  int64_t jobs = 1;
  Target target;
};

/// Prints figures and a verdict line; Mismatch unless all is well. Adds to
/// `report`.
Status trySamples(const SpaceSampler &sampler, const SampleOptions &options,
                  const GlobalOptions &global, nlohmann::json &report);

} // namespace tlm

#endif // TLM_TOOLS_SPACESAMPLE_H
