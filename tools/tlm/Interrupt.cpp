#include "Interrupt.h"

#include <csignal>

namespace tlm {

static std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

const std::atomic<bool> &interruptFlag() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = int(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

} // namespace tlm
