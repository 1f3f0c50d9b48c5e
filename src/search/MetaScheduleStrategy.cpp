//===- MetaScheduleStrategy.cpp - after TVM's MetaSchedule ----------------===//
//
// Shao et al., "Tensor Program Optimization with Probabilistic Programs",
// NeurIPS 2022. A program is the trace of its sampled decisions; a round keeps
// a population of traces, the best measured ones and fresh samples, and walks
// it a few times as a Markov chain: a trace is drawn in proportion to its
// predicted throughput, one of its decisions is mutated, the trace is replayed,
// and a replay that validation refuses is dropped. The best unmeasured traces
// are measured, with a few random ones. Mutators and their odds are those of
// the published CPU rules:
//   tile size (90 %)     moves a prime factor from one tile of a loop to
//                        another level's tile of the same loop
//   compute location (5 %)  another place for the epilogue or the prologue
//   unroll (3 %)         another loop order, prefetching or number of sums
//   parallel (2 %)       another limit of workers
//
// What differs:
// - A trace is a leaf of a Space, whose tiles are not all parts of one product:
//   where a loop has a tile at one level only, the factor comes from or goes to
//   the loop around it. A ragged or balanced tile is the next legal size.
// - Replaying moves later decisions to their nearest legal choice; a replay is
//   valid when what was mutated came out as asked.
// - Algorithms, Winograd tiles and joined groups are design spaces in
// MetaSchedule's sense:
//   sampled with the population, never mutated.
// - Sizes: 128 traces (512), batches as the tuner asks for them (64); the model
//   scores from 6 observations on (100).
//
//===----------------------------------------------------------------------===//

#include "search/Population.h"

#include <algorithm>
#include <array>

using namespace tlm;

namespace {

constexpr size_t kPopulation = 128, kGenerations = 4, kOneRandomIn = 16;
constexpr size_t kMeasured = kPopulation / 5;

enum class Mutator { TileSize, ComputeLocation, Unroll, Parallel, None };

/// Which mutator a decision belongs to; one that is new here is a tile where it
/// is a number, and a design space of its own where its values have names.
Mutator mutatorOf(Decision decision) {
  switch (decision) {
  case Decision::Algorithm:
  case Decision::WinogradTile:
  case Decision::JoinedGroups:
    return Mutator::None;
  case Decision::EpiloguePlace:
  case Decision::Prologue:
    return Mutator::ComputeLocation;
  case Decision::LoopOrder:
  case Decision::Prefetch:
  case Decision::Accumulators:
    return Mutator::Unroll;
  case Decision::MaxParallelism:
    return Mutator::Parallel;
  default:
    return valueText(decision, 0) == "0" ? Mutator::TileSize : Mutator::None;
  }
}

/// The loop that a tile belongs to: the reduction, channels or pixels.
int loopOf(const std::string &subject) {
  if (subject == "depth")
    return 2;
  return subject == "f" || subject == "c" || subject == "keys" ? 1 : 0;
}

class MetaScheduleStrategy : public EvolvingStrategy {
public:
  explicit MetaScheduleStrategy(const SearchInput &input)
      : EvolvingStrategy(input, kOneRandomIn) {}

private:
  void evolve() override {
    Random &random = population.random;
    std::vector<Schedule> traces = population.fastest(kMeasured);
    while (traces.size() < kPopulation)
      traces.push_back(population.space.sample(random));
    for (size_t number = 0;; ++number) {
      Wheel wheel(population.score(traces));
      if (number == kGenerations)
        break;
      std::vector<Schedule> next;
      while (next.size() < kPopulation) {
        const Schedule &trace = traces[wheel.draw(random)];
        std::optional<Schedule> mutated;
        if (random.below(100) < 85)
          for (int attempt = 0; attempt < 10 && !mutated; ++attempt)
            mutated = mutateTrace(trace);
        next.push_back(mutated ? std::move(*mutated) : trace);
      }
      traces = std::move(next);
    }
  }

  /// Nothing when the replay was refused.
  std::optional<Schedule> mutateTrace(const Schedule &trace);
  std::optional<Schedule> mutateTile(const Schedule &trace,
                                     const std::vector<DecisionPoint> &points);
};

} // namespace

std::optional<Schedule>
MetaScheduleStrategy::mutateTrace(const Schedule &trace) {
  Random &random = population.random;
  std::vector<DecisionPoint> points = decisionsOf(population.space, trace);
  std::array<std::vector<DecisionPoint>, 4> byMutator;
  for (DecisionPoint &point : points)
    if (Mutator mutator = mutatorOf(point.decision); mutator != Mutator::None)
      byMutator[size_t(mutator)].push_back(std::move(point));
  // Odds of the mutators that have something to mutate.
  constexpr std::array<uint64_t, 4> kOdds = {90, 5, 3, 2};
  uint64_t sum = 0;
  for (size_t i = 0; i < kOdds.size(); ++i)
    sum += byMutator[i].empty() ? 0 : kOdds[i];
  if (sum == 0)
    return std::nullopt;
  uint64_t place = random.below(sum);
  size_t mutator = 0;
  for (;; ++mutator) {
    uint64_t odds = byMutator[mutator].empty() ? 0 : kOdds[mutator];
    if (place < odds)
      break;
    place -= odds;
  }
  const std::vector<DecisionPoint> &list = byMutator[mutator];
  if (Mutator(mutator) == Mutator::TileSize)
    return mutateTile(trace, list);
  const DecisionPoint &point = list[random.below(list.size())];
  int64_t value = point.choices[random.below(point.choices.size())];
  if (value == trace.get(point.decision, point.subject, value - 1))
    return std::nullopt;
  return withChoice(population.space, trace,
                    {point.decision, point.subject, value});
}

/// The legal choice nearest to `value` on the side of it that is away from
/// `from`, or `from` where there is none.
static int64_t stepTowards(const DecisionPoint &point, int64_t from,
                           int64_t value) {
  int64_t best = from;
  for (int64_t choice : point.choices) {
    bool ahead = value > from ? choice > from : choice < from;
    if (ahead &&
        (best == from || std::abs(choice - value) < std::abs(best - value)))
      best = choice;
  }
  return best;
}

std::optional<Schedule>
MetaScheduleStrategy::mutateTile(const Schedule &trace,
                                 const std::vector<DecisionPoint> &points) {
  constexpr std::array<int64_t, 5> kFactors = {2, 2, 3, 5, 7};
  Random &random = population.random;
  const DecisionPoint &to = points[random.below(points.size())];
  int64_t factor = kFactors[random.below(kFactors.size())];
  bool grows = random.below(2) != 0;
  auto moved = [&](const DecisionPoint &point, bool up) {
    int64_t value = trace.get(point.decision, point.subject, 1);
    return stepTowards(point, value,
                       up ? value * factor
                          : std::max<int64_t>(1, value / factor));
  };
  int64_t value = moved(to, grows);
  if (value == trace.get(to.decision, to.subject, 1))
    return std::nullopt;
  Schedule wanted = trace;
  wanted.set(to.decision, to.subject, value);
  // The other end of the move: a tile of the same loop, or the loop around.
  std::vector<const DecisionPoint *> others;
  for (const DecisionPoint &point : points)
    if (&point != &to && loopOf(point.subject) == loopOf(to.subject))
      others.push_back(&point);
  size_t other = random.below(others.size() + 1);
  if (other < others.size()) {
    const DecisionPoint &from = *others[other];
    wanted.set(from.decision, from.subject, moved(from, !grows));
  }
  Schedule replayed = nearest(population.space, wanted);
  if (replayed.get(to.decision, to.subject, 0) != value)
    return std::nullopt;
  return replayed;
}

std::unique_ptr<Strategy> tlm::makeMetaSchedule(const SearchInput &input) {
  return std::make_unique<MetaScheduleStrategy>(input);
}
