// 6 rows of 2 registers: 12 sums, 2 weights, 1 input.
#define TLM_KERNELS kAvx2Kernels
#define TLM_KERNELS_NAME "avx2"
#define TLM_TILE_ROWS 6
#define TLM_TILE_VECTORS 1
#include "model/VectorKernels.h"
