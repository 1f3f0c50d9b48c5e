//===- SearchTestLandscape.h - times without a machine ----------*- C++ -*-===//
//
// A stand-in for measuring: ports and latencies for the register tile, chunks
// that fall evenly on workers or not, an optimum of chunk sizes and a price of
// every named choice that a seed moves, and a ripple of two per cent that is
// the same for a schedule in every run. It is made of choices alone and shares
// nothing with KernelEstimate.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_SEARCHTESTLANDSCAPE_H
#define TLM_SEARCH_SEARCHTESTLANDSCAPE_H

#include "base/Hash.h"
#include "search/Strategy.h"
#include "space/DefaultSchedule.h"
#include "space/Variation.h"

#include <algorithm>
#include <cmath>

namespace tlm {

class Landscape {
public:
  Landscape(const Space &space, uint64_t seed) : space(space), seed(seed) {}

  Measurement measure(const Schedule &schedule) const {
    Measurement measurement;
    measurement.minMicroseconds = measurement.medianMicroseconds =
        microseconds(schedule);
    measurement.samples = 1;
    return measurement;
  }

  double microseconds(const Schedule &schedule) const {
    double rows = 1, pixels = 1, chunks = 1, workers = 1, time = 100;
    for (const Choice &choice : schedule.choices) {
      auto value = double(choice.value);
      switch (choice.decision) {
      case Decision::RegisterRow:
        rows = std::max(rows, value);
        break;
      case Decision::RegisterTile:
        pixels *= value;
        break;
      case Decision::MaxParallelism:
        workers = value;
        break;
      case Decision::ParallelTile:
      case Decision::TileRows:
        time *= 1 + 0.02 * std::abs(std::log2(value + 1) - 2 -
                                    3 * share(choice.subject));
        break;
      default:
        time *= 1 + 0.06 * share(choice.subject + '=' +
                                 valueText(choice.decision, choice.value));
        break;
      }
    }
    for (const DecisionPoint &point : decisionsOf(space, schedule))
      if (point.decision == Decision::ParallelTile ||
          point.decision == Decision::TileRows)
        chunks *=
            std::ceil(double(*std::max_element(point.choices.begin(),
                                               point.choices.end())) /
                      double(schedule.get(point.decision, point.subject, 1)));
    time *= std::ceil(chunks / workers) / chunks * (1 + 0.004 * chunks);
    double sums = rows * pixels;
    time *= std::max({sums / 2, (rows + pixels) / 2, 4.0}) / sums;
    time *= 1 + 0.05 * std::max(0.0, sums - 22);
    return time * (1 + 0.02 * share(schedule.text()));
  }

private:
  /// In [0, 1), by the seed and the text.
  double share(const std::string &text) const {
    return double(hash64(text + std::to_string(seed)) >> 11) * 0x1p-53;
  }
  const Space &space;
  uint64_t seed;
};

/// A search without building: the fastest time after each trial, the default
/// schedule being the first.
inline std::vector<double> searchLandscape(const StrategyInfo &info,
                                           const SearchInput &input,
                                           const Landscape &landscape,
                                           size_t trials, size_t batch = 16) {
  std::unique_ptr<Strategy> strategy = info.make(input);
  KnownLeaves seen;
  std::vector<double> best;
  auto tell = [&](const Schedule &schedule) {
    Measurement measurement = landscape.measure(schedule);
    double time = measurement.minMicroseconds;
    best.push_back(best.empty() ? time : std::min(best.back(), time));
    strategy->observe(schedule, measurement);
  };
  Schedule first = defaultSchedule(input.task, input.target, input.options);
  seen.insert(first);
  tell(first);
  while (best.size() < trials) {
    std::vector<Schedule> proposed =
        strategy->propose(std::min(batch, trials - best.size()));
    size_t before = best.size();
    for (const Schedule &schedule : proposed)
      if (seen.insert(schedule))
        tell(schedule);
    if (best.size() == before)
      break;
  }
  return best;
}

} // namespace tlm

#endif // TLM_SEARCH_SEARCHTESTLANDSCAPE_H
