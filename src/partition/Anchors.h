//===- Anchors.h - the operators that start a group -------------*- C++ -*-===//

#ifndef TLM_PARTITION_ANCHORS_H
#define TLM_PARTITION_ANCHORS_H

#include "graph/Uses.h"
#include "partition/Fusion.h"

namespace tlm {

/// The group of one node that is not pointwise, without an epilogue. Fails for
/// what no task kind covers; the message names node and operator.
Result<Group> anchorGroup(const Graph &graph, const Uses &uses,
                          const Node &node);

} // namespace tlm

#endif // TLM_PARTITION_ANCHORS_H
