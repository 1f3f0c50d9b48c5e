//===- PlanInterpreter.h - runs a Plan element by element -------*- C++ -*-===//
//
// For the tests: every task as Task.h defines it, on memory as BufferType.h
// defines it. The arena starts as NaN with the borders written once, so a plan
// that reads outside a border, or memory whose owner has changed, shows.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_PARTITION_PLANINTERPRETER_H
#define TLM_PARTITION_PLANINTERPRETER_H

#include "graph/Tensor.h"
#include "partition/Plan.h"

namespace tlm {

class PlanInterpreter {
public:
  PlanInterpreter(const Plan &plan, const Graph &graph);

  /// May be called again: nothing but the borders is kept.
  std::vector<Tensor> run(const std::vector<Tensor> &inputs);

private:
  /// One operand of the step that runs.
  struct Memory {
    const BufferType *type;
    std::vector<int64_t> strides;
    float *base; ///< logical element 0

    /// Index may have a lower extent of 1 where it broadcasts.
    float &at(const std::vector<int64_t> &index) const;
  };

  Memory memoryOf(int32_t buffer, const BufferType &type);
  void writeBorder(int32_t index);
  void runStep(const PlanStep &step);
  float accumulate(const Task &task, const std::vector<int64_t> &out) const;
  float window(const Task &task, const std::vector<int64_t> &out) const;

  const Plan &plan;
  std::vector<float> arena;
  std::vector<std::vector<float>> owned; ///< per buffer outside the arena
  std::vector<Memory> operands;
};

} // namespace tlm

#endif // TLM_PARTITION_PLANINTERPRETER_H
