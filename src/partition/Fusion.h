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
//   - What no faster kind covers is a Compute group, and so is whatever has
//     another element type than f32; MatMul of two run-time values is a
//     BatchMatMul, with a transpose of the last two dims folded into it.
//   - Groups whose result nothing reads are dropped, and values without
//     elements need none.
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
  Computation computation = {};
  Norm norm = Norm::Layer;  ///< Normalize
  float epsilon = 0;        ///< Normalize
  AttentionShape attention; ///< Attention; inputs are q, k, v and the mask
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
  /// Calls visit(value) for everything its anchor reads; extras of the points
  /// are the nodes' own.
  template <typename Visit>
  void forEachOperand(Visit visit) const {
    for (ValueId id : inputs)
      visit(id);
    for (ValueId id : {weight, bias, scale})
      if (id != kNoValue)
        visit(id);
  }
};

/// Groups in the order of their steps.
Result<std::vector<Group>> fuse(const Graph &graph);

/// Dims of a matrix with these dims of a result: rows x column.
Dims matrixDims(const Dims &dims, size_t columnDim);

/// Dims as a batch of matrices: the leading ones flattened.
Dims batchDims(const Dims &dims);

/// The dims under which a task of that group reads `value` as an Extra, or
/// nothing when the value does not broadcast to the group's result.
std::optional<Dims> extraDims(const Graph &graph, const Group &group,
                              ValueId value);

} // namespace tlm

#endif // TLM_PARTITION_FUSION_H
