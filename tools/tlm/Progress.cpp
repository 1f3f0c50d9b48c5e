#include "Progress.h"

#include <cstdio>
#include <unistd.h>

namespace tlm {

Progress::Progress(const GlobalOptions &global, int64_t total)
    : enabled(global.showsProgress()), terminal(isatty(2)), total(total) {
  next = begin + (terminal ? std::chrono::milliseconds(200)
                           : std::chrono::milliseconds(30000));
}

static std::string remainingText(double seconds) {
  return seconds < 100
             ? std::to_string(int64_t(seconds) + 1) + " s left"
             : std::to_string(int64_t(seconds / 60) + 1) + " min left";
}

void Progress::update(int64_t done, const std::string &text) {
  if (!enabled || done <= 0)
    return;
  std::lock_guard lock(mutex);
  Clock::time_point now = Clock::now();
  if (now < next)
    return;
  next = now + (terminal ? std::chrono::milliseconds(200)
                         : std::chrono::milliseconds(30000));
  double passed = std::chrono::duration<double>(now - begin).count();
  std::fprintf(
      stderr, "%s%lld/%lld %s, %s%s", terminal ? "\r\033[K" : "",
      static_cast<long long>(done), static_cast<long long>(total), text.c_str(),
      remainingText(passed * double(total - done) / double(done)).c_str(),
      terminal ? "" : "\n");
  std::fflush(stderr);
}

void Progress::clear() {
  if (enabled && terminal)
    std::fputs("\r\033[K", stderr);
}

} // namespace tlm
