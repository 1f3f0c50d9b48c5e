#include "search/Strategy.h"

using namespace tlm;

std::span<const StrategyInfo> tlm::strategies() {
  static constexpr StrategyInfo kStrategies[] = {
      {"evolutionary", "mutation and crossover of the fastest so far",
       makeEvolutionary},
      {"random", "every choice uniform among its siblings", makeRandom},
  };
  return kStrategies;
}
