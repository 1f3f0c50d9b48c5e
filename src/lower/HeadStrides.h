//===- HeadStrides.h - heads in the buffers of attention --------*- C++ -*-===//

#ifndef TLM_LOWER_HEADSTRIDES_H
#define TLM_LOWER_HEADSTRIDES_H

#include "task/BufferType.h"

namespace tlm {

/// Strides of [batch, head, position, feature] in a Q, K, V or output buffer,
/// which is [B,S,heads*D] or [B,heads,S,D]; that of a feature is 1.
struct HeadStrides {
  int64_t batch = 0, head = 0, position = 0;

  static HeadStrides of(const BufferType &type, int64_t heads) {
    const std::vector<int64_t> &d = type.dims;
    if (d.size() == 3)
      return {d[1] * d[2], d[2] / heads, d[2]};
    return {d[1] * d[2] * d[3], d[2] * d[3], d[3]};
  }
};

} // namespace tlm

#endif // TLM_LOWER_HEADSTRIDES_H
