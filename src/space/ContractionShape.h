//===- ContractionShape.h - a convolution seen as a contraction -*- C++ -*-===//
//
// Loops and strides of the contraction that a Conv or MatMul task is (see
// ConvTemplate.cpp). Neighbouring loops are merged where the memory allows: the
// three pixel loops of a borderless 1x1 convolution become one, and (kw, c) of
// an NHWC window are contiguous, so they are one reduction.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_CONTRACTIONSHAPE_H
#define TLM_SPACE_CONTRACTIONSHAPE_H

#include "base/Result.h"
#include "space/Packing.h"
#include "task/Task.h"

#include <cstdint>
#include <vector>

namespace tlm {

struct ReductionDim {
  int64_t extent = 1;
  int64_t inputStride = 1;
  /// The weight's axes that this dim runs over, outermost first.
  std::vector<PackDim> weightParts;
};

struct ContractionShape {
  /// Output pixels, merged inwards: (1, 1, N*H*W), (N, 1, H*W) or (N, H, W).
  int64_t images = 1, height = 1, width = 1;
  std::vector<int64_t> inputStrides;  ///< of image, row, pixel steps
  std::vector<int64_t> outputStrides; ///< the same for the output
  int64_t inputOrigin = 0, outputOrigin = 0;
  int64_t filters = 0;       ///< F
  int64_t outputFilters = 0; ///< lanes the output has room for
  int32_t weightFilterAxis = 0;
  std::vector<ReductionDim> reductions;

  /// Axis of the channel when `operand` holds one value a channel, else -1.
  int channelAxis(const Operand &operand) const;
  bool isScalar(const Operand &operand) const;
  /// Image, row and pixel strides of a buffer shaped as the output, under the
  /// same merging.
  std::vector<int64_t> activationStrides(const BufferType &type) const;

  /// Rejects what the contraction does not cover: groups, an output in NCHW,
  /// an empty reduction.
  static Result<ContractionShape> of(const Task &task);

private:
  bool mergedRows = false, mergedImages = false;
};

} // namespace tlm

#endif // TLM_SPACE_CONTRACTIONSHAPE_H
