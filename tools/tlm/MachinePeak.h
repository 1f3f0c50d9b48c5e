//===- MachinePeak.h - what this machine can do at most ---------*- C++ -*-===//
//
// Measured, not computed from a clock: independent fused multiply-adds on the
// widest vectors in registers, and reads of a buffer of the given size. The
// physical floor of a network is work / peak + bytes / bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TOOLS_MACHINEPEAK_H
#define TLM_TOOLS_MACHINEPEAK_H

#include <cstdint>

namespace tlm {

/// GFLOP/s (a multiply-add is 2) of `threads` threads together; best of
/// `repeats` measurements of about 20 ms.
double measurePeakGflops(int threads, int repeats = 5);

/// GB/s of reading `bytesPerThread` again and again on every thread.
double measureReadGBs(int threads, int64_t bytesPerThread, int repeats = 5);

} // namespace tlm

#endif // TLM_TOOLS_MACHINEPEAK_H
