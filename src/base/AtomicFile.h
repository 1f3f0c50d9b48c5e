//===- AtomicFile.h - a file is written whole or not at all -----*- C++ -*-===//

#ifndef TLM_BASE_ATOMICFILE_H
#define TLM_BASE_ATOMICFILE_H

#include "base/Result.h"

#include <string>
#include <string_view>

namespace tlm {

/// Writes `bytes` to a temporary file beside `path` and renames it: readers see
/// the old file or the whole new one. The temporary is removed on failure.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

/// The whole file; an error that names the path when it cannot be read.
Result<std::string> readWholeFile(const std::string &path);

} // namespace tlm

#endif // TLM_BASE_ATOMICFILE_H
