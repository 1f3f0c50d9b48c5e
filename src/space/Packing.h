//===- Packing.h - how a constant operand is stored for a kernel -*- C++
//-*-===//
//
// A Packing is chosen with the schedule and carried out once per tensor and
// packing when the artifact is written: source bytes stream from the mapped
// model to the output file and never pass through MLIR.
//
// dst is a dense row-major array with extents dims[i].extent; element
// (i0, i1, ...) is src[x0, x1, ...] with
//   x_axis = sum over dims of that axis of index * scale,
// and zero where any x_axis is outside the source. So padding F = 24 to 32 in
// panels of 16 is {axis 0, extent 2, scale 16}, ..., {axis 0, extent 16,
// scale 1}. The Winograd transform, if any, is applied to the source first: it
// turns [F,C,3,3] into [F,C,6,6] or [F,C,4,4] (G w G^T, see Winograd.h),
// computed in double; the dims' axes are those of [F,C,6,6] then.
//
// BlockDiagonal turns [F,C,...] into [F,blocks*C,...]: filter f keeps its
// channels in block (f / blockFilters) mod blocks and is zero in the others.
//
// Examples, w: [F,C,KH,KW], panels of 32 filters:
//   direct    {0,F/32,32} {2,KH,1} {3,KW,1} {1,C,1} {0,32,1}
//   Winograd  {0,F/32,32} {2,6,1} {3,6,1} {1,C,1} {0,2,16} {0,16,1}
//
//===----------------------------------------------------------------------===//

#ifndef TLM_SPACE_PACKING_H
#define TLM_SPACE_PACKING_H

#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

struct PackDim {
  int32_t axis = 0; ///< source axis
  int64_t extent = 1;
  int64_t scale = 1;
  bool operator==(const PackDim &) const = default;
};

enum class WeightTransform : int32_t {
  None = 0,
  Winograd4x4_3x3 = 1, ///< F(4x4,3x3), Lavin and Gray 2015 (arXiv:1509.09308)
  BlockDiagonal = 2,   ///< joins neighbouring groups of a convolution
  Winograd2x2_3x3 = 3, ///< F(2x2,3x3), as above
};

struct Packing {
  WeightTransform transform = WeightTransform::None;
  std::vector<int64_t> sourceDims; ///< before the transform
  std::vector<PackDim> dims;
  int64_t blocks = 1, blockFilters = 1; ///< BlockDiagonal

  int64_t elementCount() const;
  std::string text() const;
  bool operator==(const Packing &) const = default;
};

/// Packs f32 `source` (row-major sourceDims) into `destination`
/// (elementCount() floats).
void pack(const Packing &packing, const float *source, float *destination);

/// The definition above, element by element; for tests and odd shapes.
void packPlainly(const std::vector<int64_t> &sourceDims,
                 const std::vector<PackDim> &dims, const float *source,
                 float *destination);

} // namespace tlm

#endif // TLM_SPACE_PACKING_H
