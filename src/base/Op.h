//===- Op.h - operators and windows -----------------------------*- C++ -*-===//

#ifndef TLM_BASE_OP_H
#define TLM_BASE_OP_H

#include "base/Computation.h"

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace tlm {

enum class Op : int32_t {
#define TLM_OP(id, name, text, pointwise) name = id,
#include "base/Ops.def"
};

std::string_view nameOf(Op op);
bool isPointwise(Op op);

/// One spatial dimension of a convolution or pooling window. Padding is
/// explicit: auto_pad and ceil_mode are resolved at import (ceil_mode only
/// makes padEnd larger; the shape follows).
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padBegin = 0;
  int64_t padEnd = 0;

  /// Extent of the output for an input of `extent`.
  int64_t outputExtent(int64_t extent) const {
    return (extent + padBegin + padEnd - dilation * (kernel - 1) - 1) / stride +
           1;
  }
  bool operator==(const Window &) const = default;
};

struct ConvAttributes {
  std::vector<Window> windows; ///< per spatial dim, e.g. {height, width}
  int64_t groups = 1;
};

struct PoolAttributes {
  std::vector<Window> windows;
  /// AveragePool: whether explicit padding counts in the divisor. The part of
  /// padEnd that ceil_mode added (`ceilPad` per dim) never counts.
  bool countIncludePad = false;
  std::vector<int64_t> ceilPad;
};

struct ScalarAttributes {
  float a = 0;
  float b = 0;
};

struct AxesAttributes {
  std::vector<int64_t> axes; ///< normalised to [0, rank)
};

struct PadAttributes {
  std::vector<int64_t> begin, end; ///< per dim; negative crops
  float value = 0;
};

/// Normalisation along the last dim; gamma and beta are [C].
struct NormAttributes {
  float epsilon = 0;
};

/// softmax(scale * Q K^T + mask) V per head. Each of Q, K, V is [B,S,heads*D]
/// or [B,heads,S,D]; the mask broadcasts to [B,heads,S,T]; the result is
/// [B,S,heads*D]. Where there are fewer key heads than heads, groups of query
/// heads share one.
struct AttentionAttributes {
  int64_t heads = 1, keyHeads = 1;
  float scale = 1;
};

using OpAttributes =
    std::variant<std::monostate, ConvAttributes, PoolAttributes,
                 ScalarAttributes, AxesAttributes, PadAttributes, Computation,
                 NormAttributes, AttentionAttributes>;

} // namespace tlm

#endif // TLM_BASE_OP_H
