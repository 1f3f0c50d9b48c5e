//===- Pointwise.h - pointwise operators on numbers -------------*- C++ -*-===//

#ifndef TLM_BASE_POINTWISE_H
#define TLM_BASE_POINTWISE_H

#include "base/Op.h"

#include <span>

namespace tlm {

/// What a pointwise operator gives for one element, as ONNX defines it: NaN
/// passes through max, min and clip; transcendental functions go through
/// double, so their error is below one f32 rounding. Max and Min take any
/// number of inputs.
float applyPointwise(Op op, std::span<const float> inputs,
                     const ScalarAttributes &attributes = {});

} // namespace tlm

#endif // TLM_BASE_POINTWISE_H
