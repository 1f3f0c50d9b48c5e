//===- RandomStrategy.cpp - uniform draws ---------------------------------===//

#include "search/Strategy.h"

using namespace tlm;

namespace {

class RandomStrategy : public Strategy {
public:
  RandomStrategy(const Space &space, uint64_t seed)
      : space(space), random(seed) {}
  std::vector<Schedule> propose(size_t count) override {
    std::vector<Schedule> schedules;
    for (size_t i = 0; i < count; ++i)
      schedules.push_back(space.sample(random));
    return schedules;
  }
  void observe(const Schedule &, const Measurement &) override {}

private:
  const Space &space;
  Random random;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeRandom(const Space &space, uint64_t seed) {
  return std::make_unique<RandomStrategy>(space, seed);
}
