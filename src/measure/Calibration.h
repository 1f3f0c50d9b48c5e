//===- Calibration.h - how fast the machine is now --------------*- C++ -*-===//
//
// A chain of integer multiplications, whose latency is the same on every run,
// on every thread that kernels are timed with: a core that runs at another
// clock, or that another process has, shows.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MEASURE_CALIBRATION_H
#define TLM_MEASURE_CALIBRATION_H

#include <algorithm>
#include <limits>

struct TlmPool;

namespace tlm {

class Calibration {
public:
  explicit Calibration(double fastest = std::numeric_limits<double>::infinity())
      : best(fastest) {}

  /// Runs the loop a few times: the fastest one's time over that of the fastest
  /// so far. `pool` is entered (Pool.h), or null: the caller is the only
  /// thread. Workers that sleep get the time to come.
  double slowdown(TlmPool *pool);

  /// Microseconds of the fastest loop; infinite before the first.
  double fastest() const { return best; }
  /// One was as fast as that, in another process.
  void note(double microseconds) { best = std::min(best, microseconds); }

private:
  double best;
};

} // namespace tlm

#endif // TLM_MEASURE_CALIBRATION_H
