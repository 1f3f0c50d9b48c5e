//===- Progress.h - how far a long command is -------------------*- C++ -*-===//

#ifndef TLM_TOOLS_PROGRESS_H
#define TLM_TOOLS_PROGRESS_H

#include "Commands.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace tlm {

/// "1200/3000 built, 4 rejected, 3 min left" on stderr: one line that is
/// written over on a terminal, a line every half minute elsewhere. Thread-safe.
class Progress {
public:
  Progress(const GlobalOptions &global, int64_t total);
  /// `done` of the total; `text` says of what.
  void update(int64_t done, const std::string &text);
  /// Clears the line of a terminal, for other output.
  void clear();
  ~Progress() { clear(); }

private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  bool enabled, terminal;
  int64_t total;
  Clock::time_point begin = Clock::now(), next;
};

} // namespace tlm

#endif // TLM_TOOLS_PROGRESS_H
