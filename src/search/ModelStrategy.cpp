//===- ModelStrategy.cpp - what the language model wrote ------------------===//
//
// The schedules that are given as written by the language model, in their
// order, then nothing more: which weights, how many answers and how they are
// drawn is decided above, where they are written as for a compilation
// (driver/ScheduleWriter.h).
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"

#include <algorithm>

using namespace tlm;

namespace {

class ModelStrategy : public Strategy {
public:
  explicit ModelStrategy(const SearchInput &input)
      : left(input.written.begin(), input.written.end()) {}

  std::vector<Schedule> propose(size_t count) override {
    auto end = left.begin() + std::ptrdiff_t(std::min(count, left.size()));
    std::vector<Schedule> schedules(left.begin(), end);
    left.erase(left.begin(), end);
    return schedules;
  }
  void observe(const Schedule &, const Measurement &) override {}

private:
  std::vector<Schedule> left;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeModel(const SearchInput &input) {
  return std::make_unique<ModelStrategy>(input);
}
