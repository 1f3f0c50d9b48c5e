//===- ExternalData.h - weights beside the model file -----------*- C++ -*-===//

#ifndef TLM_IMPORT_EXTERNALDATA_H
#define TLM_IMPORT_EXTERNALDATA_H

#include "base/MappedFile.h"
#include "base/Result.h"
#include "graph/Graph.h"

#include <cstdint>
#include <map>

namespace tlm {

/// Maps the files a model's external tensors point into, each one once.
///
/// Locations are relative to the model file's folder and stay inside it:
/// absolute paths, `..` and symbolic links that lead outside are refused.
class ExternalData {
public:
  explicit ExternalData(std::string folder) : folder(std::move(folder)) {}

  /// `sizeBytes` bytes at `offset` of `location`. The file must hold them all.
  /// Bytes that are not aligned to `alignment` are copied.
  Result<Constant> find(const std::string &location, int64_t offset,
                        size_t sizeBytes, size_t alignment);

private:
  Result<std::shared_ptr<MappedFile>> openInside(const std::string &location);

  std::string folder;
  std::map<std::string, std::shared_ptr<MappedFile>> files;
};

} // namespace tlm

#endif // TLM_IMPORT_EXTERNALDATA_H
