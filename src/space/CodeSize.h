//===- CodeSize.h - how much code an epilogue is ----------------*- C++ -*-===//

#ifndef TLM_SPACE_CODESIZE_H
#define TLM_SPACE_CODESIZE_H

#include "task/Task.h"

namespace tlm {

/// About as many vector operations as lower/ emits for one.
int64_t vectorOperations(Op op);

/// Those of all points of the task, for one vector, and its store.
int64_t epilogueOperations(const Task &task);

} // namespace tlm

#endif // TLM_SPACE_CODESIZE_H
