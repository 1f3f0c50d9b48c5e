//===- Limits.h - what bounds the choices of a target -----------*- C++ -*-===//

#ifndef TLM_SPACE_LIMITS_H
#define TLM_SPACE_LIMITS_H

#include "target/Target.h"

#include <cstdint>

namespace tlm {

/// Limits.def for one target; its reasons stand there and in docs/space.md.
struct Limits {
#define TLM_LIMIT(name, value, words, reason) int64_t name = 0;
#include "space/Limits.def"

  static Limits of(const Target &target);
};

} // namespace tlm

#endif // TLM_SPACE_LIMITS_H
