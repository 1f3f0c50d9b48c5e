//===- ContractionShape.h - a convolution seen as a contraction -*- C++ -*-===//
//
// Loops and strides of the contraction that a Conv, MatMul or BatchMatMul task
// is (see ConvTemplate.cpp). Neighbouring loops are merged where the memory
// allows: the three pixel loops of a borderless 1x1 convolution become one, and
// (kw, c) of an NHWC window are contiguous, so they are one reduction.
//
// A batch is an image with weights of its own. A grouped convolution is one
// contraction a group; narrow groups may be joined: the filters of
// `joinedGroups` groups then read the channels of all of them, through weights
// that are zero off the diagonal of blocks. The last ones may lack groups where
// every operand has lanes behind C in their place: weights are zero there too.
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
  int64_t filters = 0;          ///< F
  int64_t outputFilters = 0;    ///< lanes the output has room for
  int64_t groups = 1;           ///< after joining
  int64_t groupFilters = 0;     ///< of one of these
  int64_t groupInputStride = 0; ///< between the channels of groups
  int64_t joinedGroups = 1;     ///< of the task's groups in one of these
  int weight = 0;               ///< index of the right operand
  int32_t weightFilterAxis = 0;
  bool weightPerImage = false; ///< its axis 0 is the image
  /// Of a right operand computed at run time: image, depth and filter steps.
  std::vector<int64_t> weightStrides;
  std::vector<ReductionDim> reductions;

  int64_t depth() const;
  /// Filters of a group that whole panels may cover: the lanes behind the
  /// filters of an NHWC output belong to it, those behind a group, a row of a
  /// matrix or a vector computed at run time do not.
  int64_t panelRoom(const Task &task) const;
  /// Vectors of filters that the panels of a group hold.
  int64_t groupVectors(const Task &task, int64_t lanes) const {
    return (panelRoom(task) + lanes - 1) / lanes;
  }
  /// Vectors that the filters of two steps of the reduction take together, or 0
  /// where neighbouring steps are no neighbours in memory (lower/
  /// ContractionBuilder.h).
  int64_t pairVectors(const Task &task, int64_t lanes) const;
  int64_t pixels() const { return images * height * width; }

  /// Axis of the channel when `operand` holds one value a channel, else -1.
  int channelAxis(const Operand &operand) const;
  bool isScalar(const Operand &operand) const;
  /// Image, row and pixel strides of a buffer that broadcasts to the output,
  /// under the same merging.
  std::vector<int64_t> activationStrides(const BufferType &type) const;
  /// Whether such a buffer has a value a filter.
  bool spansFilters(const BufferType &type) const;

  /// Rejects what the contraction does not cover: convolution weights computed
  /// at run time, an output in NCHW, an empty reduction.
  static Result<ContractionShape> of(const Task &task,
                                     int64_t joinedGroups = 1);

private:
  static ContractionShape ofMatrices(const Task &task, ContractionShape shape);
  bool hasRoomForLastGroup(const Task &task) const;
  std::vector<int64_t> pixelStrides(const BufferType &type) const;

  std::vector<int64_t> outputDims;
  bool mergedRows = false, mergedImages = false;
};

} // namespace tlm

#endif // TLM_SPACE_CONTRACTIONSHAPE_H
