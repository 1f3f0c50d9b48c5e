//===- TaskDistance.h - how alike two tasks are -----------------*- C++ -*-===//

#ifndef TLM_SEARCH_TASKDISTANCE_H
#define TLM_SEARCH_TASKDISTANCE_H

#include "task/Task.h"

namespace tlm {

/// Sum over the extents of operands, windows and heads of the differences of
/// their base-2 logarithms: an image of twice the height and width is 2 away
/// per operand. A different window counts more, a different number of epilogue
/// operations a little. Infinite for tasks of different kinds, or where
/// operands are of different ranks. 0 for equal tasks.
double taskDistance(const Task &a, const Task &b);

} // namespace tlm

#endif // TLM_SEARCH_TASKDISTANCE_H
