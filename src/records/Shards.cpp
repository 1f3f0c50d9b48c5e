#include "records/Shards.h"

#include "base/AtomicFile.h"
#include "records/RecordLines.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <zstd.h>

using namespace tlm;
namespace fs = std::filesystem;

static constexpr int kLevel = 12;
/// Text is handed on in pieces of that size; a piece never spans two shards.
static constexpr size_t kPieceBytes = 1 << 16;
static constexpr size_t kMostText = size_t(512) << 20;
static constexpr const char *kExtension = ".jsonl.zst";

namespace {

/// One shard while it grows.
class ShardWriter {
public:
  explicit ShardWriter(size_t mostBytes)
      : mostBytes(mostBytes), context(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    TLM_CHECK(context != nullptr);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
    pending = headerLine();
  }

  /// Whether the record, with the texts it needs, still fits for certain.
  bool add(const Record &record, const RecordSet &texts) {
    std::string lines;
    if (!tasks.count(record.task))
      lines += taskLine(record.task, texts.tasks.at(record.task));
    if (!targets.count(record.target))
      lines += targetLine(record.target, texts.targets.at(record.target));
    lines += recordLine(record);
    if (!fits(lines.size()))
      compress(ZSTD_e_flush);
    if (!fits(lines.size()))
      return false;
    pending += lines;
    tasks.insert(record.task);
    targets.insert(record.target);
    ++records;
    if (pending.size() >= kPieceBytes)
      compress(ZSTD_e_flush);
    return true;
  }
  std::string finish() {
    compress(ZSTD_e_end);
    return std::move(bytes);
  }
  bool isEmpty() const { return records == 0; }

private:
  /// Headers and the checksum of a frame.
  static constexpr size_t kFrameBytes = 64;

  bool fits(size_t more) const {
    return bytes.size() + ZSTD_compressBound(pending.size() + more) +
               kFrameBytes <=
           mostBytes;
  }
  void compress(ZSTD_EndDirective directive) {
    ZSTD_inBuffer in = {pending.data(), pending.size(), 0};
    std::string buffer(ZSTD_CStreamOutSize(), '\0');
    size_t left = 1;
    while (left != 0) {
      ZSTD_outBuffer out = {buffer.data(), buffer.size(), 0};
      left = ZSTD_compressStream2(context.get(), &out, &in, directive);
      TLM_CHECK(!ZSTD_isError(left)) << ZSTD_getErrorName(left);
      bytes.append(buffer.data(), out.pos);
    }
    pending.clear();
  }

  size_t mostBytes;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx *)> context;
  std::string pending, bytes;
  std::set<std::string> tasks, targets;
  size_t records = 0;
};

class Exporter {
public:
  explicit Exporter(const ShardOptions &options)
      : options(options),
        writer(std::make_unique<ShardWriter>(size_t(options.mostBytes))) {}

  Status add(const Record &record, const RecordSet &texts) {
    if (writer->add(record, texts))
      return success();
    if (!writer->isEmpty())
      TLM_TRY_STATUS(finish());
    if (writer->add(record, texts))
      return success();
    return makeError("a record of task " + record.task +
                         " does not fit a shard of " +
                         std::to_string(options.mostBytes) + " bytes",
                     "--shard-bytes allows larger ones", ErrorCode::Usage);
  }
  Status finish() {
    char number[32];
    std::snprintf(number, sizeof number, "-%04zu", paths.size());
    fs::path path =
        fs::path(options.folder) / (options.name + number + kExtension);
    TLM_TRY_STATUS(writeFileAtomically(path, writer->finish()));
    paths.push_back(path);
    writer = std::make_unique<ShardWriter>(size_t(options.mostBytes));
    return success();
  }
  bool isEmpty() const { return writer->isEmpty(); }
  std::vector<std::string> paths;

private:
  const ShardOptions &options;
  std::unique_ptr<ShardWriter> writer;
};

} // namespace

Result<std::vector<std::string>> tlm::writeShards(const Store &store,
                                                  const RecordFilter &filter,
                                                  const ShardOptions &options) {
  std::error_code failure;
  fs::create_directories(options.folder, failure);
  if (failure)
    return makeError("cannot make '" + options.folder +
                     "': " + failure.message());
  for (const fs::directory_entry &entry :
       fs::directory_iterator(options.folder, failure))
    if (std::string name = entry.path().filename();
        name.starts_with(options.name + "-") && name.ends_with(kExtension))
      return makeError("'" + options.folder + "' holds shards already: " + name,
                       "export into another folder, or by another --name");
  RecordSet texts;
  TLM_TRY(texts.tasks, store.taskTexts());
  TLM_TRY(texts.targets, store.targetTexts());
  Exporter exporter(options);
  TLM_TRY_STATUS(store.forEach(filter, [&](const Record &record) {
    return exporter.add(record, texts);
  }));
  if (!exporter.isEmpty() || exporter.paths.empty())
    TLM_TRY_STATUS(exporter.finish());
  return exporter.paths;
}

Result<std::string> tlm::decompressed(std::string_view bytes,
                                      const std::string &path) {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx *)> context(ZSTD_createDCtx(),
                                                              ZSTD_freeDCtx);
  TLM_CHECK(context != nullptr);
  std::string text, buffer(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
  size_t left = 1;
  bool isFull = false;
  while (in.pos < in.size || isFull) {
    ZSTD_outBuffer out = {buffer.data(), buffer.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left))
      return makeError(path + ": no zstd file, or a damaged one: " +
                       ZSTD_getErrorName(left));
    text.append(buffer.data(), out.pos);
    isFull = left != 0 && out.pos == out.size;
    if (text.size() > kMostText)
      return makeError(path + ": more than " + std::to_string(kMostText >> 20) +
                       " MiB of text");
  }
  if (left != 0)
    return makeError(path + ": ends early: the file is cut");
  return text;
}

static Result<std::vector<fs::path>> shardsOf(const std::string &path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure))
    return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, failure))
    if (std::string name = entry.path().filename();
        name.ends_with(kExtension) || name.ends_with(".jsonl"))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty())
    return makeError("'" + path + "' holds no .jsonl and no .jsonl.zst file");
  return files;
}

Result<RecordSet> tlm::readShards(const std::vector<std::string> &paths) {
  RecordSet set;
  for (const std::string &path : paths) {
    TLM_TRY(std::vector<fs::path> files, shardsOf(path));
    for (const fs::path &file : files) {
      TLM_TRY(std::string text, readWholeFile(file));
      if (!file.string().ends_with(".jsonl")) {
        TLM_TRY(text, decompressed(text, file));
      }
      TLM_TRY_STATUS(readRecordLines(text, file, set));
    }
  }
  return set;
}
