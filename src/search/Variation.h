//===- Variation.h - schedules made from schedules --------------*- C++ -*-===//

#ifndef TLM_SEARCH_VARIATION_H
#define TLM_SEARCH_VARIATION_H

#include "space/Space.h"

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

} // namespace tlm

#endif // TLM_SEARCH_VARIATION_H
