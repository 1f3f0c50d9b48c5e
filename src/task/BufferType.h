//===- BufferType.h - how a tensor lies in memory ---------------*- C++ -*-===//
//
// Layout, border and channel padding are part of a buffer's type, and with it
// of a Task's key: the producing kernel writes the form that the consuming
// kernel reads, and no kernel in between moves data.
//
// Two layouts exist:
//   Plain  row-major in the ONNX order of `dims`; no border, no padding.
//          User tensors, weights, matrices.
//   Nhwc   for dims [N,C,H,W]: stored as
//            [N][top + H + bottom][left + W + right][channelStride]
//          channelStride is C rounded up to a multiple of the target's vector
//          (16 floats); the lanes behind C hold finite values that no consumer
//          lets through (packed weights are zero there). The border holds
//          `border.value` in every lane. Most borders are written once, when a
//          context is made: the memory plan gives their buffers slots that only
//          buffers of the same type share. Those of large ones are written in
//          every run.
//          Bordered is also possible for Plain rank-4 buffers (the padded copy
//          of a network's NCHW input): [N][C][top+H+bottom][left+W+right].
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TASK_BUFFERTYPE_H
#define TLM_TASK_BUFFERTYPE_H

#include "base/DType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

enum class Layout : int32_t { Plain = 0, Nhwc = 1 };

struct Border {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  float value = 0;

  bool empty() const { return !top && !bottom && !left && !right; }
  bool operator==(const Border &) const = default;
};

struct BufferType {
  DType dtype = DType::F32;
  Layout layout = Layout::Plain;
  std::vector<int64_t> dims = {}; ///< logical, ONNX order
  int64_t channelStride = 0;      ///< Nhwc only
  Border border = {};

  /// Elements of the whole buffer, border and padding lanes included.
  int64_t elementCount() const;
  int64_t sizeBytes() const { return elementCount() * int64_t(sizeOf(dtype)); }
  /// Elements between neighbours along each of `dims`.
  std::vector<int64_t> strides() const;
  /// Element offset of logical index 0 (behind the border).
  int64_t origin() const;

  /// "f32 nhwc[1,64,56,56]c64 border(1,1,1,1)=0"; top, bottom, left, right.
  std::string text() const;
  bool operator==(const BufferType &) const = default;
};

} // namespace tlm

#endif // TLM_TASK_BUFFERTYPE_H
