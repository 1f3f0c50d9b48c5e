#include "search/TaskScheduler.h"

#include <algorithm>

using namespace tlm;

static constexpr double kAlpha = 0.2, kBeta = 2;
static constexpr size_t kWindow = 3;
static constexpr uint64_t kOneRandomIn = 20;

TaskScheduler::TaskScheduler(const std::vector<ScheduledTask> &tasks,
                             uint64_t seed)
    : random(seed) {
  for (const ScheduledTask &task : tasks)
    states.push_back({task, {}, false});
}

// How much a round should take off the network's time.
double TaskScheduler::gain(const State &state) const {
  double time = state.best.back();
  if (time <= 0)
    return 0;
  auto rounds = double(state.best.size());
  double backward = 0;
  size_t window = std::min(kWindow, state.best.size() - 1);
  if (window > 0)
    if (double before = state.best[state.best.size() - 1 - window]; before > 0)
      backward = (time - before) / double(window);
  double rate = 0;
  for (const State &other : states)
    if (other.task.kind == state.task.kind && !other.best.empty() &&
        other.best.back() > 0)
      rate = std::max(rate, other.task.work / other.best.back());
  double forward =
      std::min(-time / rounds, kBeta * state.task.work / rate - time);
  return -state.task.weight * (kAlpha * backward + (1 - kAlpha) * forward);
}

std::optional<size_t> TaskScheduler::next() {
  std::vector<size_t> open;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].retired)
      continue;
    if (states[i].best.empty())
      return i;
    open.push_back(i);
  }
  if (open.empty())
    return std::nullopt;
  if (random.below(kOneRandomIn) == 0)
    return open[random.below(open.size())];
  return *std::max_element(open.begin(), open.end(), [&](size_t a, size_t b) {
    return gain(states[a]) < gain(states[b]);
  });
}

void TaskScheduler::observe(size_t task, double bestMicroseconds) {
  states[task].best.push_back(bestMicroseconds);
}

void TaskScheduler::retire(size_t task) { states[task].retired = true; }
