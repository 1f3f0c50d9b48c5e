//===- ParseComputation.h - lines of a computation --------------*- C++ -*-===//

#ifndef TLM_TASK_PARSECOMPUTATION_H
#define TLM_TASK_PARSECOMPUTATION_H

#include "base/Computation.h"
#include "task/Line.h"

namespace tlm {

/// "f32"; every element type there is.
bool takeDType(Line &line, DType &dtype);

/// What an operation yields that names no type of its own: `node`, to stand
/// behind those of `computation`. Its arguments are among these.
DType yieldedType(const Computation &computation, const ScalarNode &node);

/// Reads one line of Computation::text(). What the text leaves out, the types
/// of operations, follows from their arguments. The whole is for verify.
bool parseComputationClause(Line &line, Computation &computation);

} // namespace tlm

#endif // TLM_TASK_PARSECOMPUTATION_H
