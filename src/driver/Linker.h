//===- Linker.h - objects to a shared object --------------------*- C++ -*-===//

#ifndef TLM_DRIVER_LINKER_H
#define TLM_DRIVER_LINKER_H

#include "base/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace tlm {

struct LinkInput {
  std::vector<std::string_view> objects;
  std::vector<std::string> exported; ///< everything else is hidden
  std::string soname;
};

/// Links with lld (or the system's ld), against libc and libm only; unresolved
/// symbols are errors. The bytes depend on the input alone. TLM_LINKER in the
/// environment names another linker that takes GNU options.
Result<std::vector<char>> linkSharedObject(const LinkInput &input);

} // namespace tlm

#endif // TLM_DRIVER_LINKER_H
