//===- TaskScheduler.h - which task is worth the next round -----*- C++ -*-===//
//
// The gradient task scheduler of Ansor (Zheng et al., OSDI 2020, section 6) for
// the time of one network, f = sum of weight * best time. After a round for
// every task, the next one goes to the task for which f should fall most:
//
//   weight * (alpha * (g(t) - g(t - dt)) / dt +
//             (1 - alpha) * min(-g(t) / t, beta * work / V - g(t)))
//
// with g the best time after t rounds, and V the highest rate of work that a
// task of the same kind has reached: one that lags behind its like has more to
// gain. One round in twenty goes to a task at random.
//
// A task that has no time yet, or that has nothing left to try, holds up
// nobody.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_TASKSCHEDULER_H
#define TLM_SEARCH_TASKSCHEDULER_H

#include "base/Random.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace tlm {

struct ScheduledTask {
  double weight = 1; ///< calls of the task in the network
  double work = 1;   ///< operations, or bytes where it only moves
  int kind = 0;      ///< tasks of one kind are alike
};

class TaskScheduler {
public:
  TaskScheduler(const std::vector<ScheduledTask> &tasks, uint64_t seed);

  /// The task of the next round; nothing when all are retired.
  std::optional<size_t> next();
  /// After a round: the best time so far, 0 where there is none.
  void observe(size_t task, double bestMicroseconds);
  /// The task gets no more rounds.
  void retire(size_t task);

private:
  struct State {
    ScheduledTask task;
    std::vector<double> best; ///< after each round
    bool retired = false;
  };
  double gain(const State &state) const;

  std::vector<State> states;
  Random random;
};

} // namespace tlm

#endif // TLM_SEARCH_TASKSCHEDULER_H
