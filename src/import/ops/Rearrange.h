//===- Rearrange.h - elements to other places, of any type ------*- C++ -*-===//
//
// For f32 the graph's own operators, for other types computations; constants
// fold either way.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_OPS_REARRANGE_H
#define TLM_IMPORT_OPS_REARRANGE_H

#include "import/NodeImporter.h"

namespace tlm {

/// One axis of a slice: elements first, first + step, ...
struct AxisRange {
  int64_t first, step, count;
};

Result<ValueId> emitSlice(NodeImporter &node, ValueId x,
                          const std::vector<AxisRange> &ranges);

/// Elements [first, first + count) of one axis.
Result<ValueId> emitSlice(NodeImporter &node, ValueId x, size_t axis,
                          int64_t first, int64_t count);

Result<ValueId> emitTranspose(NodeImporter &node, ValueId x,
                              std::vector<int64_t> order);

/// Two operands or more, of one type.
Result<ValueId> emitConcat(NodeImporter &node,
                           const std::vector<ValueId> &operands, int64_t axis);

/// x broadcast to dims.
Result<ValueId> emitExpand(NodeImporter &node, ValueId x, const Dims &dims);

} // namespace tlm

#endif // TLM_IMPORT_OPS_REARRANGE_H
