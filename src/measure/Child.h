//===- Child.h - a forked process with limits -------------------*- C++ -*-===//

#ifndef TLM_MEASURE_CHILD_H
#define TLM_MEASURE_CHILD_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tlm {

/// Writes one record to the parent; returns when the parent is done with it.
using SendRecord = std::function<void(const void *data, size_t bytes)>;

struct ChildLimits {
  /// Between two records, and before the first.
  double seconds = 10;
  /// Of memory beyond what the process has when it forks.
  int64_t memoryBytes = int64_t(4) << 30;
};

struct ChildEnd {
  enum class Kind { Finished, Signal, TimedOut, OutOfMemory, Exited };
  Kind kind = Kind::Finished;
  int number = 0; ///< signal or exit status
};

/// Forks, runs body(send) in the child, and calls onRecord for every record of
/// exactly `recordBytes` in this process. The child leads a process group of
/// its own, which is killed when a limit is reached, when the child ends and
/// when this process dies. Returns how it ended; all descendants are reaped.
ChildEnd runInChild(const ChildLimits &limits, size_t recordBytes,
                    const std::function<void(const SendRecord &)> &body,
                    const std::function<void(const void *record)> &onRecord);

} // namespace tlm

#endif // TLM_MEASURE_CHILD_H
