//===- Ranking.h - which candidate to trust ---------------------*- C++ -*-===//
//
// Times are noisy, and the fastest of many single measurements is the luckiest
// one. A candidate's time is the median of the minima of its measurements on a
// quiet machine, or of all where it has none there, one of n rounds counting n
// times; what is known less well has to be faster by more:
//
//   measured in turn with others three times or more        as it is
//   less often                                              +3 %
//   only while the machine was not quiet (Measurement.h)    +8 % on top
//
// A candidate that ever crashed or gave wrong values is out.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_RANKING_H
#define TLM_RECORDS_RANKING_H

#include "records/Record.h"

#include <string>
#include <vector>

namespace tlm {

struct RankedCandidate {
  std::string schedule;
  double microseconds = 0; ///< without the margin
  double cautious = 0;     ///< with it; what the order is by
  int32_t rounds = 0;      ///< measurements behind it
  bool drifted = false;    ///< none of them on a quiet machine
};

/// The best first. `records` are of one task, one target and one version of the
/// compiler.
std::vector<RankedCandidate> rankCandidates(const std::vector<Record> &records);

} // namespace tlm

#endif // TLM_RECORDS_RANKING_H
