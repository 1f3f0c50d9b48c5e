//===- Packing.cpp --------------------------------------------------------===//

#include "space/Packing.h"

#include "base/Check.h"
#include "space/Winograd.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tlm {

int64_t Packing::elementCount() const {
  int64_t count = 1;
  for (const PackDim &dim : dims)
    count *= dim.extent;
  return count;
}

std::string Packing::text() const {
  std::string text;
  if (transform == WeightTransform::Winograd4x4_3x3)
    text = "winograd4x4_3x3 ";
  if (transform == WeightTransform::Winograd2x2_3x3)
    text = "winograd2x2_3x3 ";
  if (transform == WeightTransform::BlockDiagonal)
    text = "block_diagonal " + std::to_string(blocks) + " of " +
           std::to_string(blockFilters) + ' ';
  text += '[';
  for (size_t i = 0; i < sourceDims.size(); ++i)
    text += (i ? "," : "") + std::to_string(sourceDims[i]);
  text += "] ->";
  for (const PackDim &dim : dims)
    text += " d" + std::to_string(dim.axis) + ':' + std::to_string(dim.extent) +
            '*' + std::to_string(dim.scale);
  return text;
}

static std::vector<int64_t> rowMajorStrides(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void packPlainly(const std::vector<int64_t> &sourceDims,
                 const std::vector<PackDim> &dims, const float *source,
                 float *destination) {
  std::vector<int64_t> strides = rowMajorStrides(sourceDims);
  std::vector<int64_t> index(dims.size(), 0);
  int64_t count = 1;
  for (const PackDim &dim : dims)
    count *= dim.extent;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> x(sourceDims.size(), 0);
    for (size_t d = 0; d < dims.size(); ++d)
      x[size_t(dims[d].axis)] += index[d] * dims[d].scale;
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis < x.size(); ++axis) {
      inside &= x[axis] < sourceDims[axis];
      offset += x[axis] * strides[axis];
    }
    destination[i] = inside ? source[offset] : 0.0f;
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d].extent)
        break;
      index[d] = 0;
    }
  }
}

namespace {

/// Packs in blocks of the two innermost dims. The source is read transposed,
/// so the dims with small source strides that stand before them (the taps of
/// a convolution) run inside a block: its cache lines are read once.
class BlockPacker {
public:
  BlockPacker(const std::vector<int64_t> &sourceDims, std::vector<PackDim> dims,
              const float *source, float *destination)
      : sourceDims(sourceDims), dims(std::move(dims)), source(source),
        destination(destination), position(sourceDims.size(), 0) {
    std::vector<int64_t> axisStrides = rowMajorStrides(sourceDims);
    for (const PackDim &dim : this->dims)
      sourceStrides.push_back(axisStrides[size_t(dim.axis)] * dim.scale);
    std::vector<int64_t> extents;
    for (const PackDim &dim : this->dims)
      extents.push_back(dim.extent);
    destinationStrides = rowMajorStrides(extents);
    firstTap = rowDim();
    while (firstTap > 0 &&
           sourceStrides[firstTap - 1] < sourceStrides[rowDim()])
      --firstTap;
  }

  void run() { outer(0, source, destination); }

private:
  static constexpr int64_t kBlock = 16;

  size_t rowDim() const { return dims.size() - 2; }
  size_t laneDim() const { return dims.size() - 1; }

  /// Indices of dim d, from `first`, that stay inside the source.
  int64_t insideCount(size_t d, int64_t first) const {
    size_t axis = size_t(dims[d].axis);
    int64_t left = sourceDims[axis] - position[axis] - first * dims[d].scale;
    return left <= 0 ? 0 : (left + dims[d].scale - 1) / dims[d].scale;
  }

  void outer(size_t d, const float *src, float *dst) {
    if (d == firstTap)
      return blocks(src, dst);
    forIndices(d, src, dst,
               [&](const float *s, float *t) { outer(d + 1, s, t); });
  }

  void blocks(const float *src, float *dst) {
    const PackDim &rows = dims[rowDim()], &lanes = dims[laneDim()];
    int64_t laneBlock = sourceStrides[laneDim()] == 1 ? lanes.extent : kBlock;
    for (int64_t row = 0; row < rows.extent; row += kBlock)
      for (int64_t lane = 0; lane < lanes.extent; lane += laneBlock) {
        Block block{row, std::min(kBlock, rows.extent - row), lane,
                    std::min(laneBlock, lanes.extent - lane)};
        taps(firstTap, block, src, dst);
      }
  }

  struct Block {
    int64_t row, rows, lane, lanes;
  };

  void taps(size_t d, const Block &block, const float *src, float *dst) {
    if (d == rowDim())
      return copy(block, src, dst);
    forIndices(d, src, dst,
               [&](const float *s, float *t) { taps(d + 1, block, s, t); });
  }

  template <typename Body>
  void forIndices(size_t d, const float *src, float *dst, Body body) {
    int64_t &at = position[size_t(dims[d].axis)];
    int64_t before = at;
    for (int64_t i = 0; i < dims[d].extent; ++i) {
      body(src + i * sourceStrides[d], dst + i * destinationStrides[d]);
      at += dims[d].scale;
    }
    at = before;
  }

  /// Whether the axes that rows and lanes do not move along are inside.
  bool inside() const {
    for (size_t axis = 0; axis < position.size(); ++axis)
      if (position[axis] >= sourceDims[axis])
        return false;
    return true;
  }

  void copy(const Block &block, const float *src, float *dst) {
    int64_t pitch = dims[laneDim()].extent;
    int64_t rowStride = sourceStrides[rowDim()];
    int64_t laneStride = sourceStrides[laneDim()];
    int64_t rows = 0, lanes = 0;
    if (inside()) {
      rows = std::min(block.rows, insideCount(rowDim(), block.row));
      lanes = std::min(block.lanes, insideCount(laneDim(), block.lane));
    }
    dst += block.row * pitch + block.lane;
    if (rows < block.rows || lanes < block.lanes)
      for (int64_t row = 0; row < block.rows; ++row)
        std::fill_n(dst + row * pitch, block.lanes, 0.0f);
    if (rows == 0 || lanes == 0)
      return;
    src += block.row * rowStride + block.lane * laneStride;
    if (laneStride == 1) {
      for (int64_t row = 0; row < rows; ++row)
        std::memcpy(dst + row * pitch, src + row * rowStride,
                    size_t(lanes) * sizeof(float));
    } else if (rows == kBlock && lanes == kBlock) {
      gather<kBlock, kBlock>(src, rowStride, laneStride, dst, pitch);
    } else {
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t lane = 0; lane < lanes; ++lane)
          dst[row * pitch + lane] = src[row * rowStride + lane * laneStride];
    }
  }

  template <int64_t Rows, int64_t Lanes>
  static void gather(const float *src, int64_t rowStride, int64_t laneStride,
                     float *dst, int64_t pitch) {
    for (int64_t row = 0; row < Rows; ++row)
      for (int64_t lane = 0; lane < Lanes; ++lane)
        dst[row * pitch + lane] = src[row * rowStride + lane * laneStride];
  }

  const std::vector<int64_t> &sourceDims;
  std::vector<PackDim> dims;
  const float *source;
  float *destination;
  std::vector<int64_t> sourceStrides, destinationStrides;
  size_t firstTap = 0;
  /// Per source axis: where the loops outside a block stand.
  std::vector<int64_t> position;
};

} // namespace

/// Joins neighbours that continue each other: F2 panels of 16 lanes are one
/// dim of 16 * F2.
static std::vector<PackDim> joinDims(const std::vector<PackDim> &dims) {
  std::vector<PackDim> joined;
  for (const PackDim &dim : dims) {
    if (!joined.empty() && joined.back().axis == dim.axis &&
        joined.back().scale == dim.scale * dim.extent) {
      joined.back().extent *= dim.extent;
      joined.back().scale = dim.scale;
    } else if (dim.extent != 1) {
      joined.push_back(dim);
    }
  }
  return joined;
}

static void packUntransformed(const std::vector<int64_t> &sourceDims,
                              const std::vector<PackDim> &dims,
                              const float *source, float *destination) {
  std::vector<PackDim> joined = joinDims(dims);
  size_t rank = joined.size();
  if (rank < 2 || joined[rank - 1].axis == joined[rank - 2].axis)
    return packPlainly(sourceDims, joined, source, destination);
  BlockPacker(sourceDims, std::move(joined), source, destination).run();
}

/// Transforms and packs one index of the outermost dim at a time, when that
/// dim cuts axis 0 into pieces: the transformed filters stay in cache.
static void packWinograd(const Packing &packing, const float *source,
                         float *destination) {
  const std::vector<int64_t> &from = packing.sourceDims;
  TLM_CHECK(from.size() == 4 && from[2] == 3 && from[3] == 3) << packing.text();
  std::vector<PackDim> dims = packing.dims;
  int64_t points =
      packing.transform == WeightTransform::Winograd4x4_3x3 ? 6 : 4;
  int64_t step = from[0], pieces = 1, reach = 1;
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i].axis == 0)
      reach += (dims[i].extent - 1) * dims[i].scale;
  if (!dims.empty() && dims[0].axis == 0 && reach <= dims[0].scale) {
    step = dims[0].scale;
    pieces = dims[0].extent;
    dims.erase(dims.begin());
  }
  int64_t pieceElements = packing.elementCount() / pieces;
  std::vector<float> transformed(
      size_t(std::min(step, from[0]) * from[1] * points * points));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    float *dst = destination + piece * pieceElements;
    int64_t filters = std::min(step, from[0] - piece * step);
    if (filters <= 0) {
      std::fill_n(dst, pieceElements, 0.0f);
      continue;
    }
    transformWinogradFilters(source + piece * step * from[1] * 9,
                             filters * from[1], points - 2, transformed.data());
    packUntransformed({filters, from[1], points, points}, dims,
                      transformed.data(), dst);
  }
}

static void packBlockDiagonal(const Packing &packing, const float *source,
                              float *destination) {
  std::vector<int64_t> dims = packing.sourceDims;
  int64_t filters = dims[0], floats = 1;
  for (size_t i = 1; i < dims.size(); ++i)
    floats *= dims[i];
  dims[1] *= packing.blocks;
  std::vector<float> wide(size_t(filters * floats * packing.blocks), 0.0f);
  for (int64_t f = 0; f < filters; ++f) {
    int64_t block = f / packing.blockFilters % packing.blocks;
    std::copy_n(source + f * floats, floats,
                wide.data() + (f * packing.blocks + block) * floats);
  }
  packUntransformed(dims, packing.dims, wide.data(), destination);
}

void pack(const Packing &packing, const float *source, float *destination) {
  for (const PackDim &dim : packing.dims)
    TLM_CHECK(dim.axis >= 0 && size_t(dim.axis) < packing.sourceDims.size() &&
              dim.extent > 0 && dim.scale > 0)
        << packing.text();
  switch (packing.transform) {
  case WeightTransform::None:
    return packUntransformed(packing.sourceDims, packing.dims, source,
                             destination);
  case WeightTransform::Winograd4x4_3x3:
  case WeightTransform::Winograd2x2_3x3:
    return packWinograd(packing, source, destination);
  case WeightTransform::BlockDiagonal:
    return packBlockDiagonal(packing, source, destination);
  }
}

} // namespace tlm
