//===- Interrupt.h - Ctrl-C as a wish to end --------------------*- C++ -*-===//

#ifndef TLM_TOOLS_INTERRUPT_H
#define TLM_TOOLS_INTERRUPT_H

#include <atomic>

namespace tlm {

/// Becomes true at the first SIGINT or SIGTERM of this process from now on; a
/// second one ends the process as usual.
const std::atomic<bool> &interruptFlag();

} // namespace tlm

#endif // TLM_TOOLS_INTERRUPT_H
