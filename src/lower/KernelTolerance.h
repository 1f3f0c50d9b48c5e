//===- KernelTolerance.h - how far a kernel may be off ----------*- C++ -*-===//
//
// The stated errors of kernels, and their way through an epilogue. With the
// values of OperandData a contraction, a maximum and a move of data have none.
//
//   average of n values    2 ULP: the exact sum times the rounded 1/n
//   softmax over n         (n + 8) ULP: n rounded additions and exp
//   normalisation over n   (n + 16) ULP of the largest result
//   computations           none for moves of data; 1e-5 of the largest result
//                          for sums and products; of others nothing is said
//   attention over n keys  n ULP and 2e-5 of the largest value: softmax's
//                          error times the values
//   Winograd F(4x4,3x3)    1e-5 of the accumulator's largest magnitude, times
//                          max(1, K/4608), K = products of a sum; none of
//                          F(2x2,3x3), whose fractions are quarters
//   exp                    relative 3e-7 + 1.3e-7 |x|
//   sigmoid, swish         3e-7 absolute, and 2 ULP
//   tanh, erf              5e-7 absolute
//   gelu, both forms       1e-6 max(1, |x|)
//   elu                    5e-7 |a| absolute, and 2 ULP
//   everything else        1 ULP, none when the result is an f32
//
// An error of an argument is carried on by the operator's largest slope.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_KERNELTOLERANCE_H
#define TLM_LOWER_KERNELTOLERANCE_H

#include "lower/Kernel.h"
#include "task/Evaluator.h"

namespace tlm {

/// Of the anchor's result at a point where it is `value`. `largest` is the
/// largest magnitude that it takes.
double accumulatorTolerance(const Task &task, const Kernel &kernel,
                            double value, double largest);

/// Of the output, given that of the anchor's result. Infinite where nothing
/// can be said (a division by what may be 0).
double outputTolerance(const Task &task, const PointTrace &trace,
                       double accumulatorTolerance);

} // namespace tlm

#endif // TLM_LOWER_KERNELTOLERANCE_H
