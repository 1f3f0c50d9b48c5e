//===- ComputationPoint.h - one element of a computation --------*- C++ -*-===//
//
// Evaluates a Computation at one output index, node by node, on buffers of any
// layout: for checks. The graph's interpreter does whole tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TASK_COMPUTATIONPOINT_H
#define TLM_TASK_COMPUTATIONPOINT_H

#include "base/Computation.h"
#include "task/BufferType.h"

#include <cstddef>
#include <vector>

namespace tlm {

/// A number of any element type: floats in `real`, f32 rounded; all others in
/// `whole` as base/IntegerArithmetic.h holds them.
struct Number {
  double real = 0;
  int64_t whole = 0;
};

/// A buffer to read: where it starts, border included.
struct TypedBuffer {
  const BufferType *type = nullptr;
  const std::byte *data = nullptr;

  Number at(int64_t element) const;
};

class ComputationPoint {
public:
  /// Both must outlive it.
  ComputationPoint(const Computation &computation,
                   std::vector<TypedBuffer> operands);

  Number at(const std::vector<int64_t> &index);

private:
  enum class Stage { Before, Inside, After };

  void evaluate(Stage stage);
  Number valueOf(const ScalarNode &node) const;
  Number load(const ScalarNode &node) const;
  Number reduce(const ScalarNode &node);

  const Computation &computation;
  std::vector<TypedBuffer> operands;
  std::vector<std::vector<int64_t>> strides; ///< per operand
  std::vector<Stage> stages;                 ///< per node
  std::vector<Number> values;                ///< per node
  std::vector<int64_t> loops;                ///< parallel, then reductions
};

} // namespace tlm

#endif // TLM_TASK_COMPUTATIONPOINT_H
