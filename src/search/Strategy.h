//===- Strategy.h - who proposes schedules ----------------------*- C++ -*-===//
//
// A strategy proposes schedules of one task and is told what became of them.
// It is seeded; the same observations lead to the same proposals. Budgets,
// building, measuring and duplicates are the tuner's (TaskTuner.h).
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_STRATEGY_H
#define TLM_SEARCH_STRATEGY_H

#include "records/Measurement.h"
#include "space/Space.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tlm {

class Strategy {
public:
  virtual ~Strategy() = default;
  /// At most `count` leaves of the space; none when it has no more ideas.
  virtual std::vector<Schedule> propose(size_t count) = 0;
  virtual void observe(const Schedule &schedule,
                       const Measurement &measurement) = 0;
};

struct StrategyInfo {
  std::string_view name, summary;
  std::unique_ptr<Strategy> (*make)(const Space &space, uint64_t seed);
};

/// Every strategy, in the order of their files.
std::span<const StrategyInfo> strategies();

std::unique_ptr<Strategy> makeEvolutionary(const Space &space, uint64_t seed);
std::unique_ptr<Strategy> makeRandom(const Space &space, uint64_t seed);

} // namespace tlm

#endif // TLM_SEARCH_STRATEGY_H
