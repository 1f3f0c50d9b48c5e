/*===- Kernels.c - kernels for the tests of artifacts -----------------------===
 *
 * For x f32[1,2,6,5]: a copy into a bordered NHWC buffer, a 3x3 maximum over
 * it, and exp times a weight per channel into the output. See TinyModel.h.
 *
 *===------------------------------------------------------------------------===*/

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { C = 2, H = 6, W = 5, Lanes = 16, Row = (W + 2) * Lanes };

/* x [C][H][W] -> padded [H+2][W+2][Lanes]; a chunk is a row. */
void tiny_copy(void *const *args, void *scratch, int64_t begin, int64_t end) {
  const float *x = args[0];
  float *padded = args[1];
  (void)scratch;
  for (int64_t h = begin; h < end; ++h)
    for (int64_t w = 0; w < W; ++w)
      for (int64_t c = 0; c < Lanes; ++c)
        padded[(h + 1) * Row + (w + 1) * Lanes + c] =
            c < C ? x[(c * H + h) * W + w] : 0;
}

/* The same with an operand that is not used, in between. */
void tiny_copy_ballast(void *const *args, void *scratch, int64_t begin,
                       int64_t end) {
  void *rest[] = {args[0], args[2]};
  tiny_copy(rest, scratch, begin, end);
}

/* padded -> z [H][W][Lanes], by way of the worker's scratch. */
void tiny_max(void *const *args, void *scratch, int64_t begin, int64_t end) {
  const float *padded = args[0];
  float *z = args[1];
  float *row = scratch;
  for (int64_t h = begin; h < end; ++h) {
    for (int64_t w = 0; w < W; ++w)
      for (int64_t c = 0; c < Lanes; ++c) {
        float best = padded[h * Row + w * Lanes + c];
        for (int64_t y = 0; y < 3; ++y)
          for (int64_t x = 0; x < 3; ++x)
            best = fmaxf(best, padded[(h + y) * Row + (w + x) * Lanes + c]);
        row[w * Lanes + c] = best;
      }
    memcpy(z + h * W * Lanes, row, W * Lanes * sizeof(float));
  }
}

/* Stage 1: exp of z into the shared scratch. */
void tiny_exp(void *const *args, void *scratch, int64_t begin, int64_t end) {
  const float *z = args[0];
  float *shared = args[3];
  (void)scratch;
  for (int64_t i = begin * W * Lanes; i < end * W * Lanes; ++i)
    shared[i] = expf(z[i]);
}

/* Stage 2: times weight [Lanes], out [C][H][W]; a chunk is a row, and reads the
 * neighbour's part of the scratch: stages must not overlap. */
void tiny_scale(void *const *args, void *scratch, int64_t begin, int64_t end) {
  const float *weight = args[1];
  float *out = args[2];
  const float *shared = args[3];
  (void)scratch;
  for (int64_t h = begin; h < end; ++h)
    for (int64_t w = 0; w < W; ++w)
      for (int64_t c = 0; c < C; ++c)
        out[(c * H + h) * W + w] =
            weight[c] * shared[((H - 1 - h) * W + w) * Lanes + c];
}
