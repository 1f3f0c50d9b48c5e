//===- TaskLoops.h - the loops of a task ------------------------*- C++ -*-===//
//
// The loop nest that a task's kind means: the output's dims, which are
// parallel, and behind them the reductions; and which loop walks along which
// dim of an operand. A 3x3 convolution of [1,64,56,56]:
//
//   loops   n=1 f=64 h=56 w=56   reductions c=64 kh=3 kw=3
//   input   n c h w              h and w up to the window
//   weight  f c kh kw            bias f
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_TASKLOOPS_H
#define TLM_LANG_TASKLOOPS_H

#include "task/Task.h"

#include <vector>

namespace tlm {

struct TaskLoops {
  /// Along this dim runs no single loop.
  static constexpr int kNone = -1;

  std::vector<int64_t> parallel;   ///< extents: the output's dims
  std::vector<int64_t> reductions; ///< extents
  /// Of each operand: the loop along each dim, counted through both lists, or
  /// kNone. The dim's extent may be another: a window, a broadcast.
  std::vector<std::vector<int>> accesses;

  static TaskLoops of(const Task &task);
};

} // namespace tlm

#endif // TLM_LANG_TASKLOOPS_H
