#include "space/Variation.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace tlm;

static std::optional<int64_t> chosen(const Schedule &schedule,
                                     const DecisionPoint &point) {
  for (const Choice &choice : schedule.choices)
    if (choice.decision == point.decision && choice.subject == point.subject)
      return choice.value;
  return std::nullopt;
}

// On a logarithmic scale: tiles of 7 and 8 are neighbours, 1 and 2 are not. Of
// a tile that was not asked for before, the largest: no cut.
static int64_t nearestChoice(const DecisionPoint &point,
                             const Schedule &wanted) {
  std::optional<int64_t> value = chosen(wanted, point);
  bool cuts = point.decision == Decision::ParallelTile ||
              point.decision == Decision::CacheTile ||
              point.decision == Decision::WinogradTile;
  if (!value && cuts)
    return *std::max_element(point.choices.begin(), point.choices.end());
  if (!value)
    return point.choices.front();
  auto distance = [&](int64_t choice) {
    return std::abs(std::log2(double(choice) + 1) -
                    std::log2(double(*value) + 1));
  };
  return *std::min_element(
      point.choices.begin(), point.choices.end(),
      [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
}

Schedule tlm::nearest(const Space &space, const Schedule &wanted) {
  return space.write(
      [&](const DecisionPoint &point) { return nearestChoice(point, wanted); });
}

Schedule tlm::mutate(const Space &space, const Schedule &parent,
                     Random &random) {
  uint64_t points = 0;
  space.write([&](const DecisionPoint &point) {
    ++points;
    return nearestChoice(point, parent);
  });
  if (points == 0)
    return parent;
  for (;;) {
    uint64_t certain = random.below(points), at = 0;
    Schedule child = space.write([&](const DecisionPoint &point) {
      bool changes = at++ == certain || random.below(2 * points) == 0;
      return changes ? point.choices[random.below(point.choices.size())]
                     : nearestChoice(point, parent);
    });
    if (child.choices != parent.choices)
      return child;
  }
}

Schedule tlm::cross(const Space &space, const Schedule &a, const Schedule &b,
                    Random &random) {
  return space.write([&](const DecisionPoint &point) {
    return nearestChoice(point, random.below(2) ? a : b);
  });
}

std::optional<Schedule> tlm::withChoice(const Space &space,
                                        const Schedule &base,
                                        const Choice &choice) {
  Schedule wanted = base;
  wanted.set(choice.decision, choice.subject, choice.value);
  Schedule leaf = nearest(space, wanted);
  if (leaf.get(choice.decision, choice.subject, choice.value - 1) !=
      choice.value)
    return std::nullopt;
  return leaf;
}

std::vector<DecisionPoint> tlm::decisionsOf(const Space &space,
                                            const Schedule &leaf) {
  std::vector<DecisionPoint> points;
  space.write([&](const DecisionPoint &point) {
    points.push_back(point);
    return nearestChoice(point, leaf);
  });
  return points;
}

bool KnownLeaves::drawNew(const Space &space, Random &random,
                          std::vector<Schedule> &schedules) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Schedule schedule = space.sample(random);
    if (insert(schedule)) {
      schedules.push_back(std::move(schedule));
      return true;
    }
  }
  return false;
}
