//===- Shards.h - record lines in compressed files --------------*- C++ -*-===//
//
// A store is exported as files of RecordLines.h, each compressed by zstd to no
// more than a given size and each complete in itself: NAME-0000.jsonl.zst, ...
// Records stand in the order of Store::forEach, so that equal records give
// equal files, and records that are added later leave the first files as they
// are.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_RECORDS_SHARDS_H
#define TLM_RECORDS_SHARDS_H

#include "records/Store.h"

namespace tlm {

struct ShardOptions {
  std::string folder; ///< made if need be
  std::string name = "records";
  int64_t mostBytes = 2000000;
};

/// The paths written. A folder that holds shards of that name is refused.
Result<std::vector<std::string>> writeShards(const Store &store,
                                             const RecordFilter &filter,
                                             const ShardOptions &options);

/// All records of .jsonl and .jsonl.zst files and of folders of these, or an
/// error that names the file and, within it, the line.
Result<RecordSet> readShards(const std::vector<std::string> &paths);

/// What zstd frames decompress to; an error for anything else.
Result<std::string> decompressed(std::string_view bytes,
                                 const std::string &path);

} // namespace tlm

#endif // TLM_RECORDS_SHARDS_H
