//===- RandomStrategy.cpp - uniform draws ---------------------------------===//
//
// Every choice uniform among its siblings, no schedule twice. It learns
// nothing: what the others have to beat at equal trials.
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"
#include "space/Variation.h"

using namespace tlm;

namespace {

class RandomStrategy : public Strategy {
public:
  explicit RandomStrategy(const SearchInput &input)
      : space(input.space), random(input.seed) {}

  std::vector<Schedule> propose(size_t count) override {
    std::vector<Schedule> schedules;
    while (schedules.size() < count)
      if (!known.drawNew(space, random, schedules))
        break;
    return schedules;
  }
  void observe(const Schedule &schedule, const Measurement &) override {
    known.insert(schedule);
  }

private:
  const Space &space;
  Random random;
  KnownLeaves known;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeRandom(const SearchInput &input) {
  return std::make_unique<RandomStrategy>(input);
}
