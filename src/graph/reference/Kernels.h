//===- Kernels.h - plain evaluation of one operator -------------*- C++ -*-===//
//
// The readable reference of every operator, in ONNX order, written as loops
// whose innermost one walks contiguous floats so that it vectorises on any
// machine. No FMA and a fixed order of summation: the same bits everywhere,
// with any number of threads. Long sums are cut in blocks that are added in
// double, so their error stays near one rounding of the result.
//
// Operands have the shapes inferShape accepted; `y` has the output's dims and
// room for its elements.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_GRAPH_REFERENCE_KERNELS_H
#define TLM_GRAPH_REFERENCE_KERNELS_H

#include "base/Op.h"
#include "graph/Tensor.h"

#include <functional>
#include <span>

namespace tlm::reference {

using Operands = std::span<const TensorView>;

/// Calls body(begin, end) over disjoint ranges that cover [0, count).
void parallelFor(int64_t count, int threads,
                 const std::function<void(int64_t, int64_t)> &body);

void compute(Operands inputs, const Computation &computation, Tensor &y,
             int threads);
void conv(Operands inputs, const ConvAttributes &attributes, Tensor &y,
          int threads);
void matMul(Operands inputs, Tensor &y, int threads);
void maxPool(const TensorView &x, const PoolAttributes &attributes, Tensor &y,
             int threads);
void averagePool(const TensorView &x, const PoolAttributes &attributes,
                 Tensor &y, int threads);
void reduceMean(const TensorView &x, const AxesAttributes &attributes,
                Tensor &y);
void softmax(const TensorView &x, const AxesAttributes &attributes, Tensor &y);
/// x, [gamma], [beta]; op is LayerNorm or RmsNorm.
void normalize(Op op, Operands inputs, const NormAttributes &attributes,
               Tensor &y);
void attention(Operands inputs, const AttentionAttributes &attributes,
               Tensor &y, int threads);
void transpose(const TensorView &x, const AxesAttributes &attributes,
               Tensor &y);
void concat(Operands inputs, const AxesAttributes &attributes, Tensor &y);
void pad(const TensorView &x, const PadAttributes &attributes, Tensor &y);
/// Any operator that isPointwise says yes to.
void pointwise(Op op, Operands inputs, const ScalarAttributes &attributes,
               Tensor &y, int threads);

/// Any operator; dims and dtype are those of the result.
Tensor evaluate(Op op, const OpAttributes &attributes, Operands inputs,
                const Dims &dims, int threads, DType dtype = DType::F32);

/// Nanoseconds a node takes on one thread, roughly; saturates.
int64_t costOf(Op op, const OpAttributes &attributes,
               std::span<const Dims> inputs, const Dims &dims);

} // namespace tlm::reference

#endif // TLM_GRAPH_REFERENCE_KERNELS_H
