//===- Strategy.h - who proposes schedules ----------------------*- C++ -*-===//
//
// A strategy proposes schedules of one task and is told what became of them.
// It is seeded; the same observations lead to the same proposals. Budgets,
// building, measuring and duplicates are the tuner's (TaskTuner.h). The default
// schedule is measured whatever the strategy, and observed.
//
// One file a strategy; its head says which published system it follows, and
// what differs.
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

class CostModel;

/// A schedule of some task, and its time on the target.
struct KnownSchedule {
  Task task;
  Schedule schedule;
  double microseconds = 0;
};

/// What a strategy is made from; all of it outlives the strategy.
struct SearchInput {
  const Task &task;
  const Target &target;
  const Space &space;
  ScheduleOptions options = {};
  uint64_t seed = 1;
  /// Of this and of other tasks, in any order.
  std::span<const KnownSchedule> known = {};
  /// Shared by the tasks that are tuned together; null: one of its own.
  CostModel *model = nullptr;
  /// Of this task, by the language model, all different, the best first.
  std::span<const Schedule> written = {};
};

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
  /// Candidates a task where nobody says how many; the default schedule and the
  /// fixed one (TaskTuner.h) are two of them.
  int64_t trials;
  std::unique_ptr<Strategy> (*make)(const SearchInput &input);
};

/// Every strategy, in the order of their files.
std::span<const StrategyInfo> strategies();
/// Null where there is none of that name.
const StrategyInfo *strategyNamed(std::string_view name);

std::unique_ptr<Strategy> makeDefault(const SearchInput &input);
std::unique_ptr<Strategy> makeEvolutionary(const SearchInput &input);
std::unique_ptr<Strategy> makeMetaSchedule(const SearchInput &input);
std::unique_ptr<Strategy> makeModel(const SearchInput &input);
std::unique_ptr<Strategy> makeNearDefault(const SearchInput &input);
std::unique_ptr<Strategy> makeRandom(const SearchInput &input);
std::unique_ptr<Strategy> makeRoller(const SearchInput &input);
std::unique_ptr<Strategy> makeTransfer(const SearchInput &input);

} // namespace tlm

#endif // TLM_SEARCH_STRATEGY_H
