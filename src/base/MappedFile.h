//===- MappedFile.h - a file's bytes without reading them -------*- C++ -*-===//

#ifndef TLM_BASE_MAPPEDFILE_H
#define TLM_BASE_MAPPEDFILE_H

#include "base/Result.h"

#include <cstddef>
#include <memory>
#include <string>

namespace tlm {

/// A whole file, mapped read-only and unmapped with the object.
class MappedFile {
public:
  /// Refuses what is not a regular file. An empty file has size 0.
  static Result<std::shared_ptr<MappedFile>> open(const std::string &path);

  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  const std::byte *data() const { return bytes; }
  size_t sizeBytes() const { return size; }

private:
  MappedFile(const std::byte *bytes, size_t size) : bytes(bytes), size(size) {}

  const std::byte *bytes;
  size_t size;
};

} // namespace tlm

#endif // TLM_BASE_MAPPEDFILE_H
