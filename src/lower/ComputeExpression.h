//===- ComputeExpression.h - a computation's value in a loop ----*- C++ -*-===//
//
// Writes the expression of one output element where a template has opened the
// loops: nodes once each, loads at sums of loop variables, clamped where the
// index is not proved to be inside, selects whose condition is known without
// the other side. Reductions are loops of their own that carry the accumulator.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_COMPUTEEXPRESSION_H
#define TLM_LOWER_COMPUTEEXPRESSION_H

#include "lower/IndexAnalysis.h"
#include "lower/ScalarEmitter.h"
#include "task/Task.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tlm {

class ComputeExpression {
public:
  /// All must outlive it.
  ComputeExpression(const Task &task, LoopNest &nest, ScalarEmitter &emitter);

  /// The index values of the loops, parallel ones first; the template sets
  /// those it opens.
  std::vector<std::string> variables;

  /// A new place in the code: no value is there yet. `ranges` of all loops.
  void begin(const std::vector<Interval> &ranges);
  /// Makes what `node` needs from outside a reduction loop, so that it stands
  /// before the loop, and the reduction itself.
  void prepare(int32_t node);
  /// The name of the node's value, made when it is not there.
  std::string value(int32_t node);
  /// Gives a node a value that the template has made.
  void set(int32_t node, std::string name) { values[node] = std::move(name); }

  /// The Reduce, or -1.
  int32_t reduceNode() const { return reduce; }
  bool isInsideReduction(int32_t node) const {
    return insideReduction[size_t(node)];
  }

private:
  size_t loopCount() const { return computation.loops.size(); }
  const ScalarNode &node(int32_t id) const {
    return computation.nodes[size_t(id)];
  }
  LoopNest::Array arrayOf(size_t operand) const;

  std::string makeValue(int32_t id);
  std::string address(int32_t load);
  std::string loadIndex(int32_t id);
  std::string reduceScalar(int32_t id);
  std::string reducePosition(int32_t id);

  const Task &task;
  const Computation &computation;
  LoopNest &nest;
  ScalarEmitter &emitter;
  int32_t reduce = -1;
  std::vector<bool> insideReduction; ///< per node
  std::vector<Interval> ranges;
  std::optional<IndexAnalysis> analysis;
  std::map<int32_t, std::string> values;
  std::set<int32_t> prepared;
};

} // namespace tlm

#endif // TLM_LOWER_COMPUTEEXPRESSION_H
