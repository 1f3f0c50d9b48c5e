//===- OperandData.h - operands with exact sums -----------------*- C++ -*-===//
//
// Fills the operands of a task so that every contraction and every pooling sum
// of it is exact in f32 in any order: values are integers of at most 4 in
// magnitude, weights those times a power of two that brings a sum's typical
// magnitude to about 3, where activations and clips bend. All partial sums then
// stay below 2^24 units of that power.
//
// Borders hold their value. Lanes behind C hold finite garbage (3, -2, 0): they
// must not leak. No Extra is 0, so that a division is one. Large constants
// repeat after 4093 pages, a prime, and take no more memory than those. Equal
// tasks and seeds get equal data.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_OPERANDDATA_H
#define TLM_LOWER_OPERANDDATA_H

#include "lower/AlignedFloats.h"
#include "lower/Kernel.h"

#include <vector>

namespace tlm {

class OperandData {
public:
  OperandData(const Task &task, const Kernel &kernel, uint64_t seed);

  /// What the kernel takes: constants packed.
  const std::vector<float *> &kernelOperands() const { return packed; }
  /// What an Evaluator takes: constants as in the model.
  const std::vector<const float *> &taskOperands() const { return plain; }
  AlignedFloats &output() { return sources.back(); }
  const AlignedFloats &output() const { return sources.back(); }

  /// Bytes that an OperandData and the kernel's scratch take.
  static int64_t sizeBytes(const Task &task, const Kernel &kernel);

private:
  std::vector<AlignedFloats> sources, packings;
  std::vector<float *> packed;
  std::vector<const float *> plain;
};

} // namespace tlm

#endif // TLM_LOWER_OPERANDDATA_H
