//===- Measure.h - candidates in a process of their own ---------*- C++ -*-===//
//
// A candidate is machine code that nobody has seen: it may crash, loop or
// scribble. A batch runs in a forked child with limits on time and memory; each
// candidate is linked, checked (KernelCheck.h) and only then timed
// (KernelTimer.h), and its result comes through a pipe. When the child dies,
// that is the candidate's outcome, and a new child goes on with the next one.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MEASURE_MEASURE_H
#define TLM_MEASURE_MEASURE_H

#include "lower/Kernel.h"
#include "measure/KernelTimer.h"
#include "records/Measurement.h"

#include <functional>
#include <memory>
#include <vector>

namespace tlm {

struct Candidate {
  const Task *task = nullptr;
  const Kernel *kernel = nullptr;
  /// A kernel that has passed its check before needs none.
  bool check = true;
  double cutOffMicroseconds = 0;
};

struct MeasureOptions {
  int threads = 1;
  TimingOptions timing;
  /// For one candidate, all of it.
  double secondsLimit = 10;
  int64_t memoryBytes = int64_t(4) << 30;
  /// Shared by all who measure with as many threads: what is slow is so against
  /// the fastest that any of them saw.
  std::shared_ptr<Calibration> calibration = std::make_shared<Calibration>();
};

class Measurer {
public:
  explicit Measurer(const MeasureOptions &options) : options(options) {}

  /// Results in the order of the candidates; never fails. To be called while
  /// no other thread of this process runs (fork) and nothing else on the
  /// machine does (times). `measured` is told of each result before the next
  /// candidate runs, while the child waits; a file that it opens and closes is
  /// none of the child's.
  std::vector<Measurement> measure(
      const std::vector<Candidate> &candidates,
      const std::function<void(size_t, const Measurement &)> &measured = {});

private:
  MeasureOptions options;
};

} // namespace tlm

#endif // TLM_MEASURE_MEASURE_H
