//===- EvolutionaryStrategy.cpp - mutation and crossover ------------------===//
//
// The population is every schedule measured so far. Parents are drawn from the
// fastest sixteen, the faster the more often. After Ansor (Zheng et al., OSDI
// 2020, section 5.1); what differs: a mutation draws a decision anew and keeps
// the rest where it is legal, which the space sees to, and fitness is measured
// time, not a cost model's.
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"
#include "search/Variation.h"

#include <algorithm>

using namespace tlm;

namespace {

constexpr size_t kParents = 16, kFirstDraws = 24;

class EvolutionaryStrategy : public Strategy {
public:
  EvolutionaryStrategy(const Space &space, uint64_t seed)
      : space(space), random(seed) {}

  std::vector<Schedule> propose(size_t count) override {
    std::vector<Schedule> schedules;
    for (size_t i = 0; i < count; ++i) {
      bool draws = proposed++ < kFirstDraws || population.size() < 2 ||
                   random.below(8) == 0;
      if (draws)
        schedules.push_back(space.sample(random));
      else if (random.below(4) == 0)
        schedules.push_back(cross(space, parent(), parent(), random));
      else
        schedules.push_back(mutate(space, parent(), random));
    }
    return schedules;
  }

  void observe(const Schedule &schedule,
               const Measurement &measurement) override {
    if (!measurement.isOk())
      return;
    Member member = {schedule, measurement.minMicroseconds};
    auto place = std::upper_bound(population.begin(), population.end(), member,
                                  [](const Member &a, const Member &b) {
                                    return a.microseconds < b.microseconds;
                                  });
    population.insert(place, std::move(member));
    if (population.size() > kParents)
      population.pop_back();
  }

private:
  struct Member {
    Schedule schedule;
    double microseconds = 0;
  };
  /// The smaller of two draws: rank r has odds that fall linearly.
  const Schedule &parent() {
    size_t a = random.below(population.size()),
           b = random.below(population.size());
    return population[std::min(a, b)].schedule;
  }

  const Space &space;
  Random random;
  std::vector<Member> population; ///< the fastest, fastest first
  size_t proposed = 0;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeEvolutionary(const Space &space,
                                                uint64_t seed) {
  return std::make_unique<EvolutionaryStrategy>(space, seed);
}
