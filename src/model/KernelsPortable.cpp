// Any CPU: fused multiply-adds come from the C library where the CPU has none.
#define TLM_KERNELS kPortableKernels
#define TLM_KERNELS_NAME "portable"
#define TLM_TILE_ROWS 2
#define TLM_TILE_VECTORS 1
#include "model/VectorKernels.h"
