#include "search/Strategy.h"

using namespace tlm;

std::span<const StrategyInfo> tlm::strategies() {
  static constexpr StrategyInfo kStrategies[] = {
      {"default", "the default schedule, nothing else", 2, makeDefault},
      {"evolutionary",
       "mutation and crossover under a learned cost model, after Ansor", 64,
       makeEvolutionary},
      {"metaschedule",
       "mutated traces under a learned cost model, after MetaSchedule", 64,
       makeMetaSchedule},
      {"model", "what the language model writes", 12, makeModel},
      {"near-default", "the default schedule, changed a little", 64,
       makeNearDefault},
      {"random", "every choice uniform among its siblings", 64, makeRandom},
      {"roller", "aligned tiles scaled up level by level, after Roller", 12,
       makeRoller},
      {"transfer", "the schedules of the nearest tasks that are recorded", 16,
       makeTransfer},
  };
  return kStrategies;
}

const StrategyInfo *tlm::strategyNamed(std::string_view name) {
  for (const StrategyInfo &info : strategies())
    if (info.name == name)
      return &info;
  return nullptr;
}
