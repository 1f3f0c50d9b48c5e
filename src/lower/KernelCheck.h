//===- KernelCheck.h - a kernel against its task ----------------*- C++ -*-===//
//
// Runs a kernel once on the operands of OperandData, its chunks in reverse, and
// looks for
//   - output points that differ from the Evaluator's by more than
//     KernelTolerance states: all of them when that costs little, else about
//     256: corners, edges and tails of every dim, and seeded random ones;
//   - output points that nobody wrote;
//   - writes outside the output's interior (the border belongs to the context);
//   - lanes behind C that are not finite (BufferType.h).
//
// The kernel runs in this process on this processor.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_KERNELCHECK_H
#define TLM_LOWER_KERNELCHECK_H

#include "lower/LoadedKernel.h"

#include <string>
#include <vector>

namespace tlm {

struct KernelVerdict {
  /// Compared with the evaluator; none for a task that it does not cover.
  int64_t points = 0;
  /// Empty: right. Else the first wrong point, what was there and what should
  /// be: "point [0,3,1,1] is 5, expected 4 (tolerance 0)".
  std::string wrong;
};

KernelVerdict checkKernel(const Task &task, const Kernel &kernel,
                          LoadedKernel &loaded);

/// One of a number of kernels to check; both must stay alive.
struct KernelToCheck {
  const Task *task = nullptr;
  const Kernel *kernel = nullptr;
};

/// Loads all with one link and checks them on `jobs` threads, with at most 256
/// MiB of operands at a time, or those of one kernel. Verdicts are in the order
/// of `kernels` and do not depend on `jobs`. An error: they cannot be loaded.
Result<std::vector<KernelVerdict>>
checkKernels(const std::vector<KernelToCheck> &kernels, int64_t jobs);

} // namespace tlm

#endif // TLM_LOWER_KERNELCHECK_H
