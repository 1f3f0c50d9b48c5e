// 12 rows of 2 registers: 24 sums, 2 weights, 1 input.
#define TLM_KERNELS kAvx512Kernels
#define TLM_KERNELS_NAME "avx512"
#define TLM_TILE_ROWS 12
#define TLM_TILE_VECTORS 2
#include "model/VectorKernels.h"
