//===- Variation.h - schedules made from schedules --------------*- C++ -*-===//

#ifndef TLM_SPACE_VARIATION_H
#define TLM_SPACE_VARIATION_H

#include "space/Space.h"

#include <set>
#include <string>
#include <vector>

namespace tlm {

/// A leaf that takes another choice than `parent` in about one decision, in one
/// at least unless the space has a single leaf. Later decisions keep the
/// parent's choice where it is still legal, else they take the nearest number.
Schedule mutate(const Space &space, const Schedule &parent, Random &random);

/// A leaf whose decisions come from either parent, each with even odds.
Schedule cross(const Space &space, const Schedule &a, const Schedule &b,
               Random &random);

/// A leaf as close to `wanted` as the space has one: its choices where they are
/// legal, else the nearest numbers.
Schedule nearest(const Space &space, const Schedule &wanted);

/// A leaf with `value` there and the choices of `base` elsewhere, decisions of
/// which there is no such choice any more taking the nearest; nothing where
/// `value` is not legal.
std::optional<Schedule> withChoice(const Space &space, const Schedule &base,
                                   const Choice &choice);

/// The decisions that `leaf` answers, each with its legal choices, two or more;
/// in the order in which the space asks.
std::vector<DecisionPoint> decisionsOf(const Space &space,
                                       const Schedule &leaf);

/// Leaves that have been proposed or measured.
class KnownLeaves {
public:
  /// Whether it is new.
  bool insert(const Schedule &schedule) {
    return texts.insert(schedule.text()).second;
  }
  bool contains(const Schedule &schedule) const {
    return texts.contains(schedule.text());
  }
  /// Appends a uniform draw that is new; false when many draws were not.
  bool drawNew(const Space &space, Random &random,
               std::vector<Schedule> &schedules);

private:
  std::set<std::string> texts;
};

} // namespace tlm

#endif // TLM_SPACE_VARIATION_H
