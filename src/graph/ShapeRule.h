//===- ShapeRule.h - the output shape of every operator ---------*- C++ -*-===//
//
// The only place that knows what an operator accepts and what shape it yields.
// Import infers with it, verifyGraph checks with it. Messages say what was
// found and what is allowed; the caller adds the node.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_GRAPH_SHAPERULE_H
#define TLM_GRAPH_SHAPERULE_H

#include "base/Result.h"
#include "graph/Graph.h"

#include <optional>
#include <span>

namespace tlm {

/// Elements one tensor may have. Keeps every later product far from overflow.
inline constexpr int64_t kMaxElements = int64_t(1) << 46;

/// Dims one tensor may have.
inline constexpr size_t kMaxRank = 64;

/// Largest kernel, stride, dilation or padding of a window.
inline constexpr int64_t kMaxWindow = int64_t(1) << 24;

/// "[1,3,224,224]"; of more than kMaxRank dims the first ones and "...".
std::string dimsText(const Dims &dims);

/// The product of the dims, or nothing when one is negative, there are more
/// than kMaxRank, or the product exceeds kMaxElements.
std::optional<int64_t> checkedCountOf(const Dims &dims);

/// ONNX's multidirectional broadcasting.
Result<Dims> broadcastDims(const Dims &a, const Dims &b);

/// The output's dims of any operator but Reshape, whose output dims are its
/// only attribute.
///   Conv, pools   one or two spatial dims behind [N,C]; every pooling window
///                 must touch its input
///   MatMul        both of rank >= 2, leading dims broadcast
///   Compute       one operand or more; inferType checks the expression
Result<Dims> inferShape(Op op, std::span<const Dims> inputs,
                        const OpAttributes &attributes);

/// The output's type. Compute says its own, Reshape keeps any; everything else
/// works on f32.
Result<DType> inferType(Op op, std::span<const DType> types,
                        std::span<const Dims> inputs,
                        const OpAttributes &attributes);

} // namespace tlm

#endif // TLM_GRAPH_SHAPERULE_H
