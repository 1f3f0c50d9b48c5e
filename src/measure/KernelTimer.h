//===- KernelTimer.h - how long a kernel takes in a network -----*- C++ -*-===//
//
// Times a loaded kernel under the cache state it has in a network: activations
// are where the last run left them, constants come from beyond L2, since other
// kernels ran in between. Every run reads another copy of the constants, from
// as many as make `coldBytes` together. (With hot weights, prefetching and
// Winograd's large filters look better or worse than they are.)
//
// Where operands and the stack lie changes the time of some kernels by more
// than most schedules do, and a network has them anywhere. So samples are taken
// in bursts, each with another placement, in memory like the runtime's; the
// fastest burst decides. Between bursts a calibration loop tells whether the
// machine was quiet (Calibration.h); for those that were not, others follow.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MEASURE_KERNELTIMER_H
#define TLM_MEASURE_KERNELTIMER_H

#include "lower/LoadedKernel.h"
#include "measure/Calibration.h"
#include "task/Task.h"

#include <cstdint>

struct TlmPool;

namespace tlm {

struct TimingOptions {
  int64_t coldBytes = int64_t(48) << 20;
  double warmupSeconds = 0.001;
  /// Of all bursts together; each ends when its share of this is over, and
  /// takes at least its share of `leastSamples`.
  double seconds = 0.015;
  int32_t leastSamples = 7, mostSamples = 500;
  /// Until this is over, bursts that were not quiet are followed by others.
  double mostSeconds = 0.06;
  /// One run beyond it ends the timing; 0: none does.
  double cutOffMicroseconds = 0;
};

struct Timing {
  double minMicroseconds = 0, medianMicroseconds = 0;
  int32_t samples = 0;
  bool cutOff = false;
  /// How much slower than the fastest seen the machine was, by the calibration
  /// loop around the bursts that count.
  double slowdown = 1;
};

class KernelTimer {
public:
  /// `pool` runs the chunks; null: the caller does. Operands are filled as for
  /// a check (OperandData.h).
  KernelTimer(const Task &task, const Kernel &kernel, LoadedKernel &loaded,
              TlmPool *pool, const TimingOptions &options);
  ~KernelTimer();

  Timing time(Calibration &calibration);

  struct Burst;

private:
  struct Memory;
  void runOnce();
  double sample();
  Burst takeBurst(Calibration &calibration);
  Timing takeBursts(Calibration &calibration);

  const Kernel &kernel;
  LoadedKernel &loaded;
  TlmPool *pool;
  TimingOptions options;
  std::unique_ptr<Memory> memory;
  size_t copy = 0;      ///< of the constants, for the next run
  size_t placement = 0; ///< of the next burst
};

} // namespace tlm

#endif // TLM_MEASURE_KERNELTIMER_H
