//===- Population.h - what evolving strategies have in common ---*- C++ -*-===//
//
// The measured schedules of a task, fastest first, the cost model that scores
// the others, draws in proportion to a score, and the choice of what is
// measured next: the best scores that are new, and a few at random, so that the
// model also sees what it thinks little of (epsilon-greedy).
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SEARCH_POPULATION_H
#define TLM_SEARCH_POPULATION_H

#include "search/CostModel.h"
#include "search/Strategy.h"
#include "space/Variation.h"

#include <map>

namespace tlm {

class Population {
public:
  explicit Population(const SearchInput &input);

  void observe(const Schedule &schedule, const Measurement &measurement);

  /// Trains the model on what is new; whether it can score.
  bool prepare();
  /// At most `most` of the fastest measured ones, fastest first.
  std::vector<Schedule> fastest(size_t most) const;
  /// Predicted throughputs; new schedules are kept as candidates for pick().
  std::vector<float> score(const std::vector<Schedule> &schedules);
  /// `count` new schedules, and forgets the candidates: the best scores, and
  /// one random draw in `oneIn` at least where there are several. Without
  /// candidates all are random.
  std::vector<Schedule> pick(size_t count, size_t oneIn);

  Random random;
  const Space &space;

private:
  struct Member {
    Schedule schedule;
    double microseconds = 0;
  };
  const Task &task;
  const Target &target;
  std::string key;
  CostModel ownModel;
  CostModel &model;
  KnownLeaves known;
  std::vector<Member> members;
  /// By text: of equal scores the same comes first in every run.
  std::map<std::string, std::pair<float, Schedule>> candidates;
};

/// A strategy that evolves candidates whenever the model has learnt something.
class EvolvingStrategy : public Strategy {
public:
  std::vector<Schedule> propose(size_t count) final {
    if (population.prepare())
      evolve();
    return population.pick(count, oneRandomIn);
  }
  void observe(const Schedule &schedule, const Measurement &measurement) final {
    population.observe(schedule, measurement);
  }

protected:
  EvolvingStrategy(const SearchInput &input, size_t oneRandomIn)
      : population(input), oneRandomIn(oneRandomIn) {}
  /// Scores candidates of the population.
  virtual void evolve() = 0;

  Population population;

private:
  size_t oneRandomIn;
};

/// Draws indices in proportion to scores.
class Wheel {
public:
  explicit Wheel(const std::vector<float> &scores);
  size_t draw(Random &random) const;

private:
  std::vector<double> sums;
};

} // namespace tlm

#endif // TLM_SEARCH_POPULATION_H
