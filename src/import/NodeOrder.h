//===- NodeOrder.h - checks names and sorts nodes ---------------*- C++ -*-===//

#ifndef TLM_IMPORT_NODEORDER_H
#define TLM_IMPORT_NODEORDER_H

#include "import/OnnxModel.h"

#include <functional>

namespace tlm {

/// Whether an enclosing graph defines a name.
using IsOuterName = std::function<bool(const std::string &)>;

/// Indices of the graph's nodes in an order in which every value is made before
/// it is used, by a node or by a graph inside it; the file's own order where
/// that is one. Errors: a name made twice, an input nobody makes, a cycle.
Result<std::vector<size_t>> orderNodes(const OnnxGraph &graph,
                                       const IsOuterName &isOuter);

} // namespace tlm

#endif // TLM_IMPORT_NODEORDER_H
