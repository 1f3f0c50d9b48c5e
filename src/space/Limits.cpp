#include "space/Limits.h"

namespace tlm {

Limits Limits::of(const Target &target) {
  Limits limits;
#define TLM_LIMIT(name, value, words, reason) limits.name = value;
#include "space/Limits.def"
  return limits;
}

} // namespace tlm
