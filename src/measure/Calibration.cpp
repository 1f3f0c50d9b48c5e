#include "measure/Calibration.h"

extern "C" {
#include "runtime/Pool.h"
}

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

using namespace tlm;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kSteps = 16000, kRepeats = 3;
/// A worker that sleeps comes to its share within that, if it may run.
constexpr double kMicrosecondsToWake = 250;

double microsecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

void multiply() {
  uint64_t value = 1;
  for (int step = 0; step < kSteps; ++step)
    value = value * 6364136223846793005u + 1;
  // Keeps the loop.
  [[maybe_unused]] volatile uint64_t kept = value;
}

void stage(void *const *, void *, int64_t begin, int64_t end) {
  for (; begin < end; ++begin)
    multiply();
}

} // namespace

double Calibration::slowdown(TlmPool *pool) {
  double now = INFINITY;
  Clock::time_point start = Clock::now();
  for (int repeat = 0; repeat < kRepeats ||
                       (pool && microsecondsSince(start) < kMicrosecondsToWake);
       ++repeat) {
    Clock::time_point begin = Clock::now();
    if (pool) {
      int64_t threads = tlmPoolThreads(pool);
      TlmRegion region = {stage, nullptr, nullptr, 0, 0, threads, threads};
      tlmPoolRun(pool, &region);
    } else {
      multiply();
    }
    now = std::min(now, microsecondsSince(begin));
  }
  note(now);
  return now / best;
}
