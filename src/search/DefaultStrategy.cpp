//===- DefaultStrategy.cpp - no search ------------------------------------===//
//
// Proposes the default schedule once: the baseline of every other strategy, by
// the same measuring.
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"
#include "space/DefaultSchedule.h"

using namespace tlm;

namespace {

class DefaultStrategy : public Strategy {
public:
  explicit DefaultStrategy(const SearchInput &input)
      : schedules{defaultSchedule(input.task, input.target, input.options)} {}

  std::vector<Schedule> propose(size_t count) override {
    return count ? std::exchange(schedules, {}) : std::vector<Schedule>();
  }
  void observe(const Schedule &, const Measurement &) override {}

private:
  std::vector<Schedule> schedules;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeDefault(const SearchInput &input) {
  return std::make_unique<DefaultStrategy>(input);
}
