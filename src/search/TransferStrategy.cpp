//===- TransferStrategy.cpp - what was fast for a similar task ------------===//
//
// Transfer-tuning (Gibson and Cano, "Transfer-Tuning: Reusing Auto-Schedules
// for Efficient Tensor Program Code Generation", PACT 2022): the schedules
// found for other tasks are tried as they are. The known schedules of tasks of
// the same kind are ordered by the distance of their tasks, then by time, and
// adapted to this task's space; when they have all been tried, the fastest so
// far is mutated.
//
// What is known of the task itself is no transfer and is left out.
//
// What differs: the paper takes all schedules of a class of kernels from a
// chosen network; here the nearest by the logarithms of the extents come first,
// whatever network they are from. Its schedules fail where they do not fit;
// here each moves to the nearest leaf. The mutations are ours, so that a larger
// budget is of use.
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"
#include "search/TaskDistance.h"
#include "space/DefaultSchedule.h"
#include "space/Variation.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace tlm;

namespace {

constexpr size_t kPerTask = 3, kParents = 4;

class TransferStrategy : public Strategy {
public:
  explicit TransferStrategy(const SearchInput &input)
      : space(input.space), random(input.seed) {
    struct Known {
      double distance = 0;
      const KnownSchedule *schedule = nullptr;
    };
    std::string key = input.task.key();
    std::vector<Known> order;
    for (const KnownSchedule &each : input.known)
      if (double distance = taskDistance(input.task, each.task);
          std::isfinite(distance) && each.microseconds > 0 &&
          each.schedule.taskKey != key)
        order.push_back({distance, &each});
    // Texts break ties: records stand in no particular order.
    std::sort(order.begin(), order.end(), [](const Known &a, const Known &b) {
      if (a.distance != b.distance)
        return a.distance < b.distance;
      if (a.schedule->schedule.taskKey != b.schedule->schedule.taskKey)
        return a.schedule->schedule.taskKey < b.schedule->schedule.taskKey;
      if (a.schedule->microseconds != b.schedule->microseconds)
        return a.schedule->microseconds < b.schedule->microseconds;
      return a.schedule->schedule.text() < b.schedule->schedule.text();
    });
    std::map<std::string, size_t> taken;
    for (const Known &each : order)
      if (taken[each.schedule->schedule.taskKey]++ < kPerTask)
        wanted.push_back(each.schedule->schedule);
    fastest.push_back(
        {defaultSchedule(input.task, input.target, input.options), INFINITY});
  }

  std::vector<Schedule> propose(size_t count) override {
    std::vector<Schedule> schedules;
    auto add = [&](Schedule schedule) {
      if (known.insert(schedule))
        schedules.push_back(std::move(schedule));
    };
    while (schedules.size() < count && next < wanted.size())
      add(nearest(space, wanted[next++]));
    for (size_t attempt = 0; schedules.size() < count && attempt < 50 * count;
         ++attempt)
      add(mutate(
          space,
          fastest[random.below(std::min(kParents, fastest.size()))].schedule,
          random));
    return schedules;
  }

  void observe(const Schedule &schedule,
               const Measurement &measurement) override {
    known.insert(schedule);
    if (!measurement.isOk())
      return;
    Member member = {schedule, measurement.minMicroseconds};
    auto place = std::upper_bound(fastest.begin(), fastest.end(), member,
                                  [](const Member &a, const Member &b) {
                                    return a.microseconds < b.microseconds;
                                  });
    fastest.insert(place, std::move(member));
  }

private:
  struct Member {
    Schedule schedule;
    double microseconds = 0;
  };
  const Space &space;
  Random random;
  std::vector<Schedule> wanted; ///< of other tasks, the nearest first
  size_t next = 0;
  std::vector<Member> fastest; ///< fastest first; the default stands last
  KnownLeaves known;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeTransfer(const SearchInput &input) {
  return std::make_unique<TransferStrategy>(input);
}
