//===- IndexAnalysis.h - what is known of a computation's indices -*- C++
//-*-===//
//
// For every node of a Computation, under given ranges of its loops: the
// interval of its value, a linear form in the loop variables where there is
// one, and the node it always equals where a select or min is decided. With it
// a template proves that loads stay inside their operand, adds contiguous
// indices up, and cuts loops where conditions change (padding, concatenation),
// so that each part is a plain copy.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_INDEXANALYSIS_H
#define TLM_LOWER_INDEXANALYSIS_H

#include "base/Computation.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tlm {

/// Both ends included; the default says nothing.
struct Interval {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  bool isConstant() const { return low == high; }
  bool isWithin(int64_t from, int64_t to) const {
    return low >= from && high <= to;
  }
};

/// base + sum of coefficients[i] * loop i; never overflows inside the ranges.
struct LinearForm {
  int64_t base = 0;
  std::vector<int64_t> coefficients;
};

class IndexAnalysis {
public:
  /// `ranges`: of the parallel loops, then of the reduction loops.
  IndexAnalysis(const Computation &computation,
                const std::vector<Interval> &ranges);

  /// Of an integer or bool node.
  const Interval &range(int32_t node) const { return intervals[size_t(node)]; }
  const std::optional<LinearForm> &linear(int32_t node) const {
    return forms[size_t(node)];
  }
  /// The node with the same value, itself mostly.
  int32_t resolve(int32_t node) const { return same[size_t(node)]; }

private:
  void analyse(int32_t index);
  void decide(int32_t index);
  Interval intervalOf(const ScalarNode &node) const;
  std::optional<LinearForm> formOf(const ScalarNode &node) const;
  Interval rangeOf(const LinearForm &form) const;
  Interval argument(const ScalarNode &node, size_t i) const;

  const Computation &computation;
  const std::vector<Interval> &ranges;
  std::vector<Interval> intervals;
  std::vector<std::optional<LinearForm>> forms;
  std::vector<int32_t> same;
};

/// Where to cut each parallel loop so that its conditions are decided in every
/// part: one list of parts a loop, in order, one part where nothing is gained.
/// At most `mostParts` combinations in all; inner loops of `order` come first.
std::vector<std::vector<Interval>> cutLoops(const Computation &computation,
                                            const std::vector<size_t> &order,
                                            int64_t mostParts);

} // namespace tlm

#endif // TLM_LOWER_INDEXANALYSIS_H
