//===- StagedFile.h - a large file, whole or not at all ---------*- C++ -*-===//
//
// Like writeFileAtomically (base/AtomicFile.h), for files that are written in
// pieces: a temporary beside the destination, renamed by commit() and removed
// otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_DRIVER_STAGEDFILE_H
#define TLM_DRIVER_STAGEDFILE_H

#include "base/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tlm {

class StagedFile {
public:
  static Result<std::unique_ptr<StagedFile>> create(const std::string &path);
  ~StagedFile();
  StagedFile(const StagedFile &) = delete;
  StagedFile &operator=(const StagedFile &) = delete;

  /// Both may be called by several threads at once.
  Status write(uint64_t offset, const void *data, size_t size);
  Status read(uint64_t offset, void *data, size_t size) const;

  /// Gives the file its mode (0666, or 0777 when executable, less the umask)
  /// and its name.
  Status commit(bool isExecutable);

private:
  StagedFile() = default;
  Error failure(const char *what) const;

  std::string path, temporary;
  int descriptor = -1;
};

} // namespace tlm

#endif // TLM_DRIVER_STAGEDFILE_H
