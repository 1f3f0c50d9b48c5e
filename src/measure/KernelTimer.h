//===- KernelTimer.h - how long a kernel takes in a network -----*- C++ -*-===//
//
// Times a loaded kernel under the cache state it has in a network: activations
// are where the last run left them, constants come from beyond L2, since other
// kernels ran in between. Every run reads another copy of the constants, from
// as many as make `coldBytes` together. (With hot weights, prefetching and
// Winograd's large filters look better or worse than they are.)
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MEASURE_KERNELTIMER_H
#define TLM_MEASURE_KERNELTIMER_H

#include "lower/LoadedKernel.h"
#include "task/Task.h"

#include <cstdint>

struct TlmPool;

namespace tlm {

struct TimingOptions {
  int64_t coldBytes = int64_t(48) << 20;
  double warmupSeconds = 0.001;
  /// Samples are taken until this is over, and at least `leastSamples` are.
  double seconds = 0.015;
  int32_t leastSamples = 7, mostSamples = 500;
  /// One run beyond it ends the timing; 0: none does.
  double cutOffMicroseconds = 0;
};

struct Timing {
  double minMicroseconds = 0, medianMicroseconds = 0;
  int32_t samples = 0;
  bool cutOff = false;
};

class KernelTimer {
public:
  /// `pool` runs the chunks; null: the caller does. Operands are filled as for
  /// a check (OperandData.h).
  KernelTimer(const Task &task, const Kernel &kernel, LoadedKernel &loaded,
              TlmPool *pool, const TimingOptions &options);
  ~KernelTimer();

  Timing time();

private:
  struct Memory;
  void runOnce(size_t copy);

  const Kernel &kernel;
  LoadedKernel &loaded;
  TlmPool *pool;
  TimingOptions options;
  std::unique_ptr<Memory> memory;
};

/// Microseconds of a fixed loop of multiplications, best of a few: how fast
/// this core is now.
double calibrationMicroseconds();

} // namespace tlm

#endif // TLM_MEASURE_KERNELTIMER_H
