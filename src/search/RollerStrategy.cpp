//===- RollerStrategy.cpp - after Roller ----------------------------------===//
//
// Zhu et al., "ROLLER: Fast and Efficient Tensor Compilation for Deep
// Learning", OSDI 2022. Nothing is searched and nothing is learned: tiles
// ("rTiles") of sizes that the hardware likes are scaled up from the smallest,
// level by level from the registers outwards, each time along the axis that
// saves most traffic per byte of footprint, until the level is full; then the
// tiles are scaled out over the cores, and a micro performance model
// (KernelEstimate.h) orders what came out. The first ten are measured by
// default.
//
//   registers   register_row, register_tile, accumulators
//   L2          parallel_tile, tile_rows, cache_tile: what a chunk works on
//   cores       max_parallelism, and chunks for every one
//
// What differs:
// - Alignment is the space's: rows of whole vectors (which are cache lines
//   where vectors have 512 bits), tiles balanced so that none is padded, chunks
//   that divide.
// - L1 has no tile of its own; what fits it is for the model to value.
// - Every size on the way is a candidate, not only the full one: a chunk that
//   fills L2 may leave cores idle, which the paper repairs by shrinking it.
// - A register tile stands at most three times among the first before others
//   have their turn: where the model errs, it errs for all chunks of a tile.
// - Algorithm, Winograd tile and joined groups are other tensor expressions,
// each scaled by
//   itself; for all other choices the model decides, and the default schedule's
//   stay where it sees no difference.
//
//===----------------------------------------------------------------------===//

#include "search/Strategy.h"
#include "space/DefaultSchedule.h"
#include "space/KernelEstimate.h"
#include "space/Variation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

using namespace tlm;

namespace {

constexpr size_t kRegisterTiles = 8, kVisits = 96, kFinished = 64;

/// Decisions that make another tensor expression, in the order they are asked.
constexpr Decision kExpressions[] = {
    Decision::Algorithm, Decision::WinogradTile, Decision::JoinedGroups};

bool isExpression(Decision decision) {
  return std::find(std::begin(kExpressions), std::end(kExpressions),
                   decision) != std::end(kExpressions);
}

enum class Level { Registers, Cache, Other };

Level levelOf(Decision decision) {
  switch (decision) {
  case Decision::RegisterRow:
  case Decision::RegisterTile:
  case Decision::Accumulators:
    return Level::Registers;
  case Decision::ParallelTile:
  case Decision::TileRows:
  case Decision::CacheTile:
    return Level::Cache;
  default:
    return Level::Other;
  }
}

struct Tile {
  Schedule schedule;
  KernelEstimate estimate;

  double footprint(Level level) const {
    return level == Level::Registers ? estimate.registers
                                     : estimate.cacheFootprint;
  }
  double traffic(Level level) const {
    return level == Level::Registers ? estimate.registerTraffic
                                     : estimate.cacheTraffic;
  }
};

bool isFaster(const Tile &a, const Tile &b) {
  return a.estimate.microseconds < b.estimate.microseconds;
}

class Construction {
public:
  explicit Construction(const SearchInput &input) : input(input) {}

  /// The fastest first, by the model, register tiles taking turns.
  std::vector<Schedule> run();

private:
  Tile tileOf(Schedule schedule) const {
    KernelEstimate estimate =
        estimateKernel(input.task, input.target, schedule);
    return {std::move(schedule), estimate};
  }
  double capacity(Level level) const {
    return level == Level::Registers ? double(input.target.vectorRegisters)
                                     : 0.9 * double(input.target.l2Bytes);
  }
  std::vector<Schedule> expressions() const;
  Tile smallest(Tile tile, Level level, const Schedule *keeps) const;
  Tile largest(Tile tile, Level level) const;
  void scaleUp(const Tile &tile, Level level, KnownLeaves &visited,
               size_t &visits, std::vector<Tile> &tiles) const;
  Tile finish(Tile tile) const;

  const SearchInput &input;
};

bool sameAt(Level level, const Schedule &a, const Schedule &b) {
  for (const Choice &choice : a.choices)
    if (levelOf(choice.decision) == level &&
        b.get(choice.decision, choice.subject, choice.value) != choice.value)
      return false;
  return true;
}

} // namespace

/// The default schedule as every expression.
std::vector<Schedule> Construction::expressions() const {
  std::vector<Schedule> found = {
      defaultSchedule(input.task, input.target, input.options)};
  for (Decision decision : kExpressions) {
    std::vector<Schedule> more;
    for (const Schedule &base : found) {
      bool asked = false;
      for (const DecisionPoint &point : decisionsOf(input.space, base)) {
        if (point.decision != decision)
          continue;
        asked = true;
        for (int64_t value : point.choices)
          if (std::optional<Schedule> leaf = withChoice(
                  input.space, base, {decision, point.subject, value}))
            more.push_back(std::move(*leaf));
      }
      if (!asked)
        more.push_back(base);
    }
    found = std::move(more);
  }
  return found;
}

/// The smallest tile of a level under which the register tile of `keeps` stays.
Tile Construction::smallest(Tile tile, Level level,
                            const Schedule *keeps) const {
  for (const DecisionPoint &point : decisionsOf(input.space, tile.schedule)) {
    if (levelOf(point.decision) != level)
      continue;
    std::vector<int64_t> choices = point.choices;
    std::sort(choices.begin(), choices.end());
    for (int64_t value : choices) {
      std::optional<Schedule> leaf = withChoice(
          input.space, tile.schedule, {point.decision, point.subject, value});
      if (leaf && (!keeps || sameAt(Level::Registers, *keeps, *leaf))) {
        tile = tileOf(std::move(*leaf));
        break;
      }
    }
  }
  return tile;
}

Tile Construction::largest(Tile tile, Level level) const {
  for (const DecisionPoint &point : decisionsOf(input.space, tile.schedule)) {
    int64_t most =
        *std::max_element(point.choices.begin(), point.choices.end());
    if (levelOf(point.decision) == level)
      if (std::optional<Schedule> leaf =
              withChoice(input.space, tile.schedule,
                         {point.decision, point.subject, most}))
        tile = tileOf(std::move(*leaf));
  }
  return tile;
}

// Depth first, the axis with the best reuse first; every tile on the way goes
// into `tiles`.
void Construction::scaleUp(const Tile &tile, Level level, KnownLeaves &visited,
                           size_t &visits, std::vector<Tile> &tiles) const {
  tiles.push_back(tile);
  struct Growth {
    double score = 0;
    Tile tile;
  };
  std::vector<Growth> growths;
  for (const DecisionPoint &point : decisionsOf(input.space, tile.schedule)) {
    if (levelOf(point.decision) != level)
      continue;
    int64_t value = tile.schedule.get(point.decision, point.subject, 0);
    int64_t next = 0;
    for (int64_t choice : point.choices)
      if (choice > value && (next == 0 || choice < next))
        next = choice;
    if (next == 0)
      continue;
    std::optional<Schedule> leaf = withChoice(
        input.space, tile.schedule, {point.decision, point.subject, next});
    if (!leaf || (level == Level::Cache &&
                  !sameAt(Level::Registers, tile.schedule, *leaf)))
      continue;
    Tile grown = tileOf(std::move(*leaf));
    double footprint = grown.footprint(level);
    if (footprint > capacity(level) || !visited.insert(grown.schedule))
      continue;
    double saved = tile.traffic(level) - grown.traffic(level);
    double added = std::max(1e-9, footprint - tile.footprint(level));
    growths.push_back({saved / added, std::move(grown)});
  }
  std::stable_sort(
      growths.begin(), growths.end(),
      [](const Growth &a, const Growth &b) { return a.score > b.score; });
  for (const Growth &growth : growths)
    if (visits++ < kVisits)
      scaleUp(growth.tile, level, visited, visits, tiles);
}

// What no level decides, workers among it: one choice after the other, the
// fastest by the model.
Tile Construction::finish(Tile tile) const {
  for (const DecisionPoint &point : decisionsOf(input.space, tile.schedule)) {
    if (levelOf(point.decision) != Level::Other || isExpression(point.decision))
      continue;
    for (int64_t value : point.choices)
      if (std::optional<Schedule> leaf =
              withChoice(input.space, tile.schedule,
                         {point.decision, point.subject, value}))
        if (Tile other = tileOf(std::move(*leaf));
            other.estimate.microseconds < 0.999 * tile.estimate.microseconds)
          tile = std::move(other);
  }
  return tile;
}

/// The expression and what its register level chose.
static std::string registerTileText(const Schedule &schedule) {
  std::string text;
  for (const Choice &choice : schedule.choices)
    if (isExpression(choice.decision) ||
        levelOf(choice.decision) == Level::Registers)
      text += choice.subject + std::to_string(choice.value) + ' ';
  return text;
}

std::vector<Schedule> Construction::run() {
  std::vector<Tile> all;
  for (Schedule &expression : expressions()) {
    Tile whole = largest(tileOf(std::move(expression)), Level::Cache);
    std::vector<Tile> registerTiles;
    KnownLeaves visited;
    size_t visits = 0;
    scaleUp(smallest(whole, Level::Registers, nullptr), Level::Registers,
            visited, visits, registerTiles);
    std::stable_sort(registerTiles.begin(), registerTiles.end(),
                     [](const Tile &a, const Tile &b) {
                       return a.estimate.operationTime <
                              b.estimate.operationTime;
                     });
    registerTiles.resize(std::min(registerTiles.size(), kRegisterTiles));
    for (const Tile &tile : registerTiles) {
      visits = 0;
      scaleUp(smallest(tile, Level::Cache, &tile.schedule), Level::Cache,
              visited, visits, all);
    }
  }
  std::stable_sort(all.begin(), all.end(), isFaster);
  all.resize(std::min(all.size(), 4 * kFinished));
  for (Tile &tile : all)
    tile = finish(std::move(tile));
  std::stable_sort(all.begin(), all.end(), isFaster);
  constexpr size_t kPerTile = 3;
  std::map<std::string, size_t> ofTile;
  std::vector<std::pair<size_t, Schedule>> turns;
  KnownLeaves taken;
  for (Tile &tile : all)
    if (taken.insert(tile.schedule))
      turns.emplace_back(ofTile[registerTileText(tile.schedule)]++ / kPerTile,
                         std::move(tile.schedule));
  std::stable_sort(
      turns.begin(), turns.end(),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Schedule> schedules;
  for (auto &[turn, schedule] : turns)
    if (schedules.size() < kFinished)
      schedules.push_back(std::move(schedule));
  return schedules;
}

namespace {

class RollerStrategy : public Strategy {
public:
  explicit RollerStrategy(const SearchInput &input)
      : schedules(Construction(input).run()) {}

  std::vector<Schedule> propose(size_t count) override {
    std::vector<Schedule> proposed;
    while (proposed.size() < count && next < schedules.size()) {
      const Schedule &schedule = schedules[next++];
      if (!measured.contains(schedule))
        proposed.push_back(schedule);
    }
    return proposed;
  }
  void observe(const Schedule &schedule, const Measurement &) override {
    measured.insert(schedule);
  }

private:
  std::vector<Schedule> schedules; ///< in the order to be measured
  size_t next = 0;
  KnownLeaves measured;
};

} // namespace

std::unique_ptr<Strategy> tlm::makeRoller(const SearchInput &input) {
  return std::make_unique<RollerStrategy>(input);
}
