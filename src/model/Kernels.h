//===- Kernels.h - the arithmetic of a forward pass -------------*- C++ -*-===//
//
// The same few functions for several instruction sets, and the same bits from
// each: what one output value is the result of, and in which order, is a part
// of the contract below and depends neither on the vector width nor on how many
// rows are computed together.
//
//   matmul      a value is one chain of fused multiply-adds, from k = 0 up;
//               vectors lie across the columns
//   sums        lane l of 16 takes the elements l, l + 16, ...; then lanes are
//               added in pairs 8, 4, 2, 1 apart
//   exp, gelu   one polynomial, element by element
//
// Everything is written once, in VectorKernels.h, over vectors of 16 floats,
// and compiled per instruction set with contraction of a * b + c switched off.
// ReferenceModel.h is the readable counterpart.
//
// The header has no C++ library in it, because those who include it are
// compiled for CPUs that this one may not be.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_KERNELS_H
#define TLM_MODEL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

namespace tlm {

/// Lanes of the fixed order; widths are multiples of it.
inline constexpr int64_t kLanes = 16;
/// Columns of one panel of a packed matrix.
inline constexpr int64_t kPanelColumns = 32;

/// A (depth, columns) matrix as panels [columns / 32][depth][32], the last one
/// filled up with zeros; `columns` is a multiple of 16.
struct MatrixView {
  const float *panels;
  const float *bias; ///< (columns)
  int64_t depth;
  int64_t columns;
};

/// Keys and values of neighbouring positions, for one head.
struct AttentionSpan {
  const float *keys;   ///< keys[d * keyStride + position]; readable 16 beyond
  const float *values; ///< values[position * valueStride + d]
  int64_t keyStride;
  int64_t valueStride;
  int64_t count;
};

struct Kernels {
  const char *name;

  /// y = x w + bias, or y += that. x: (rows, depth), y: (rows, columns).
  /// `scratch` has rows * depth floats.
  void (*matmul)(const float *x, int64_t xStride, const MatrixView *w, float *y,
                 int64_t yStride, int64_t rows, bool add, float *scratch);

  /// y = (x - mean) / sqrt(variance + epsilon) * gain + bias, for one row.
  void (*normalise)(const float *x, const float *gain, const float *bias,
                    float *y, int64_t width, float epsilon);

  /// x / (1 + exp(-sqrt(8 / pi) (x + 0.044715 x^3))): GPT-2's "gelu_new".
  void (*gelu)(float *x, int64_t count);

  /// x = exp(x); below -87.3 and above 88.3 as at these.
  void (*exponential)(float *x, int64_t count);

  /// The sum of a[i] * b[i].
  float (*dot)(const float *a, const float *b, int64_t count);

  /// One head of `queries` neighbouring positions. The first one sees all of
  /// the spans but the last queries - 1 positions, every further one sees one
  /// more. `scratch` has 8 * (positions + 32) floats.
  void (*attend)(const float *query, int64_t queryStride, int64_t queries,
                 const AttentionSpan *spans, int64_t spanCount,
                 int64_t headWidth, float scale, float *out, int64_t outStride,
                 float *scratch);
};

extern const Kernels kPortableKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;

/// The ones this CPU runs, the fastest first; ends with a null pointer.
const Kernels *const *supportedKernels();

} // namespace tlm

#endif // TLM_MODEL_KERNELS_H
