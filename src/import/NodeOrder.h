//===- NodeOrder.h - checks names and sorts nodes ---------------*- C++ -*-===//

#ifndef TLM_IMPORT_NODEORDER_H
#define TLM_IMPORT_NODEORDER_H

#include "import/OnnxModel.h"

namespace tlm {

/// Indices of the model's nodes in an order in which every value is made before
/// it is used; the file's own order where that is one. Errors: a name made
/// twice, an input nobody makes, a cycle.
Result<std::vector<size_t>> orderNodes(const OnnxModel &model);

} // namespace tlm

#endif // TLM_IMPORT_NODEORDER_H
