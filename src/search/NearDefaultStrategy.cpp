//===- NearDefaultStrategy.cpp - the default, changed a little ------------===//
//
// One to three mutations away from the default schedule, no schedule twice. For
// collecting: a model that is to choose well near good schedules needs to see
// what single choices are worth there; uniform draws are mostly far off.
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"
#include "space/DefaultSchedule.h"
#include "space/Variation.h"

using namespace tlm;

namespace {

constexpr uint64_t kMostSteps = 3;
constexpr int kAttempts = 50; // for a schedule that is new

class NearDefaultStrategy : public Strategy {
public:
  explicit NearDefaultStrategy(const SearchInput &input)
      : space(input.space), random(input.seed),
        center(defaultSchedule(input.task, input.target, input.options)) {
    known.insert(center);
  }

  std::vector<Schedule> propose(size_t count) override {
    std::vector<Schedule> schedules;
    for (int attempt = 0; attempt < kAttempts && schedules.size() < count;) {
      Schedule schedule = center;
      for (uint64_t steps = 1 + random.below(kMostSteps); steps > 0; --steps)
        schedule = mutate(space, schedule, random);
      if (!known.insert(schedule)) {
        ++attempt;
        continue;
      }
      schedules.push_back(std::move(schedule));
      attempt = 0;
    }
    return schedules;
  }
  void observe(const Schedule &schedule, const Measurement &) override {
    known.insert(schedule);
  }

private:
  const Space &space;
  Random random;
  Schedule center;
  KnownLeaves known;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeNearDefault(const SearchInput &input) {
  return std::make_unique<NearDefaultStrategy>(input);
}
