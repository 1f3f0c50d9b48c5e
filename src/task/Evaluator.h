//===- Evaluator.h - what a task computes, point by point -------*- C++ -*-===//
//
// The scalar meaning of a Task, written for reading: the formulas of Task.h on
// buffers as BufferType.h lays them out. Sums are taken in double and rounded
// to f32 once, so an evaluator is closer to the truth than any kernel.
// Kernels, plans and schedules are checked against it.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TASK_EVALUATOR_H
#define TLM_TASK_EVALUATOR_H

#include "task/Task.h"

#include <cstdint>
#include <vector>

namespace tlm {

/// What the parts of a task give at one output point.
struct PointTrace {
  float accumulator = 0;     ///< the anchor's result
  std::vector<float> extras; ///< per operand of the task; 0 where no Extra
  std::vector<float> points; ///< result of every PointOp

  float value() const { return points.empty() ? accumulator : points.back(); }
  float argument(PointRef ref) const;
};

/// Whether an Evaluator covers the task: all of f32.
bool canEvaluate(const Task &task);

class Evaluator {
public:
  /// `operands` in the order of the task's: the start of every buffer, border
  /// included; constants as in the model, not packed. The output's is not read
  /// and may be null. The task is one that canEvaluate; it and the buffers must
  /// outlive the evaluator.
  Evaluator(const Task &task, const std::vector<const float *> &operands);

  /// The output's value at a logical index (one per dim, ONNX order).
  float at(const std::vector<int64_t> &index) const {
    return trace(index).value();
  }
  PointTrace trace(const std::vector<int64_t> &index) const;

private:
  using Index = std::vector<int64_t>;
  struct Memory {
    const BufferType *type;
    Index strides;
    const float *base; ///< logical element 0

    /// An extent of 1 broadcasts.
    float at(const Index &index) const;
  };

  double accumulate(const Index &out) const;
  double convolve(const Index &out) const;
  double multiply(const Index &out) const;
  double pool(const Index &out) const;
  double globalMean(const Index &out) const;
  double softmax(const Index &out) const;
  double multiplyBatch(const Index &out) const;
  double normalize(const Index &out) const;
  double attend(const Index &out) const;
  double compute(const Index &out) const;
  float concatenated(Index index) const;

  /// Where tap (kh, kw) of the window at `out` reads, before padding.
  int64_t row(const Index &out, int64_t kh) const;
  int64_t column(const Index &out, int64_t kw) const;
  double biasAt(int64_t channel) const;

  const Task &task;
  std::vector<Memory> operands;
  int weight, bias, scale;
};

/// One point of a task; see Evaluator for many.
float evaluatePoint(const Task &task,
                    const std::vector<const float *> &operands,
                    const std::vector<int64_t> &outputIndex);

} // namespace tlm

#endif // TLM_TASK_EVALUATOR_H
