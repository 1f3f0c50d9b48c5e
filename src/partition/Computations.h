//===- Computations.h - groups that compute an expression -------*- C++ -*-===//

#ifndef TLM_PARTITION_COMPUTATIONS_H
#define TLM_PARTITION_COMPUTATIONS_H

#include "graph/Uses.h"
#include "partition/Fusion.h"

namespace tlm {

/// The Compute group of any node that has a computation; the message of the
/// error names node and operator.
Result<Group> computeGroup(const Graph &graph, const Node &node);

/// MatMul of two values computed at run time, or of batches of constant ones.
Result<Group> batchMatMulGroup(const Graph &graph, const Uses &uses,
                               const Node &node);

} // namespace tlm

#endif // TLM_PARTITION_COMPUTATIONS_H
