#include "model/Kernels.h"

using namespace tlm;

namespace {

struct Supported {
  const Kernels *list[4] = {};

  Supported() {
    const Kernels **next = list;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f"))
      *next++ = &kAvx512Kernels;
    if (avx2)
      *next++ = &kAvx2Kernels;
#endif
    *next++ = &kPortableKernels;
  }
};

} // namespace

const Kernels *const *tlm::supportedKernels() {
  static const Supported supported;
  return supported.list;
}
