//===- Fusion.h - graph nodes to groups -------------------------*- C++ -*-===//
//
// A Group is a future step: an anchor with the pointwise nodes behind it.
//   - An anchor takes the pointwise nodes that follow as long as everything
//     inside the group is seen by the group only and one value leaves it. A
//     diamond (x * sigmoid(x + 3)) is taken whole or not at all.
//   - An Add that joins two anchors goes to the one farther from the inputs:
//     the end of a residual branch, not its projection, so that it is the same
//     task in the blocks that have none. Groups run at the place of their last
//     node, where the other operand exists.
//   - Mul(x, s) with s [N,C,1,1] computed at run time in front of a 1x1
//     convolution becomes that convolution's InputScale.
//   - A 1x1 convolution of [N,C,1,1] is a MatMul, a pool over the whole image
//     a GlobalPool, a Reshape a view.
//   - Pointwise nodes without an anchor form Pointwise groups.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_PARTITION_FUSION_H
#define TLM_PARTITION_FUSION_H

#include "base/Result.h"
#include "graph/Graph.h"
#include "task/Task.h"

#include <optional>
#include <string>
#include <vector>

namespace tlm {

struct Group {
  TaskKind kind = TaskKind::Pointwise;
  /// The result is the input's memory under other dims; no task.
  bool isView = false;
  std::string name; ///< of the anchor's ONNX node
  std::vector<ValueId> inputs;
  ValueId weight = kNoValue, bias = kNoValue, scale = kNoValue;
  std::vector<Window> windows;
  int64_t groups = 1;
  bool transposedWeight = false;
  bool countIncludePad = false;
  /// What the anchor yields; the first of `points` reads it.
  ValueId accumulator = kNoValue;
  std::vector<int32_t> points; ///< nodes, in order
  ValueId result = kNoValue;
  /// Last node of the group: groups run in this order.
  int32_t lastNode = -1;
  /// MatMul: the dim of the result that is the matrix's column. All others
  /// make the row.
  size_t columnDim = 1;

  bool isMatrix() const { return kind == TaskKind::MatMul; }
};

/// Groups in the order of their steps.
Result<std::vector<Group>> fuse(const Graph &graph);

/// Dims of a matrix with these dims of a result: rows x column.
Dims matrixDims(const Dims &dims, size_t columnDim);

/// The dims under which a task of that group reads `value` as an Extra, or
/// nothing when the value does not broadcast to the group's result.
std::optional<Dims> extraDims(const Graph &graph, const Group &group,
                              ValueId value);

} // namespace tlm

#endif // TLM_PARTITION_FUSION_H
