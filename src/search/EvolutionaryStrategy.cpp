//===- EvolutionaryStrategy.cpp - after Ansor -----------------------------===//
//
// Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep
// Learning", OSDI 2020, sections 5.1 and 5.2. A round draws a population at
// random, to which the fastest measured programs are added; a few generations
// of mutation and crossover follow, parents being drawn in proportion to the
// throughput that a learned cost model predicts; of all that came up, the best
// scores are measured, with a few random ones; the model (CostModel.h) is
// trained anew on everything measured. Before it has seen enough to say
// anything, the choice is random.
//
// What differs:
// - Programs are schedules of a Space, so there are no sketches to choose and
//   annotate: a random program is a random leaf, and the algorithm is a
//   decision like any other.
// - A mutation draws a decision anew and the crossover takes each decision from
//   either parent (Ansor: rewriting steps, per node of the graph); what is not
//   legal any more moves to the nearest choice, so that no child is thrown away
//   by a validator.
// - Features are of the kernel (Features.h), not of every statement.
// - Sizes are those for tens of trials a task, not for a thousand: 256 a
//   generation (2048), batches as the tuner asks for them (64).
//
//===----------------------------------------------------------------------===//

#include "search/Population.h"

using namespace tlm;

namespace {

constexpr size_t kPopulation = 256, kMeasured = 48, kGenerations = 4;
constexpr size_t kOneRandomIn = 16;

class EvolutionaryStrategy : public EvolvingStrategy {
public:
  explicit EvolutionaryStrategy(const SearchInput &input)
      : EvolvingStrategy(input, kOneRandomIn) {}

private:
  void evolve() override {
    Random &random = population.random;
    const Space &space = population.space;
    std::vector<Schedule> generation = population.fastest(kMeasured);
    while (generation.size() < kPopulation)
      generation.push_back(space.sample(random));
    for (size_t number = 0;; ++number) {
      Wheel wheel(population.score(generation));
      if (number == kGenerations)
        break;
      std::vector<Schedule> next;
      while (next.size() < kPopulation) {
        const Schedule &parent = generation[wheel.draw(random)];
        uint64_t kind = random.below(20);
        if (kind < 14)
          next.push_back(mutate(space, parent, random));
        else if (kind < 18)
          next.push_back(
              cross(space, parent, generation[wheel.draw(random)], random));
        else
          next.push_back(parent);
      }
      generation = std::move(next);
    }
  }
};

} // namespace

std::unique_ptr<Strategy> tlm::makeEvolutionary(const SearchInput &input) {
  return std::make_unique<EvolutionaryStrategy>(input);
}
