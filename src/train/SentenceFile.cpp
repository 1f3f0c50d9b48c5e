#include "train/SentenceFile.h"

#include "base/AtomicFile.h"
#include "model/SafeTensors.h"

#include <algorithm>

using namespace tlm;

namespace {

constexpr std::string_view kMagic = "tlmsent\n";
constexpr uint64_t kVersion = 1;
/// Magic, version, language version, words, hash of the words, groups, bytes of
/// the groups, hash of these.
constexpr size_t kHeaderBytes = 8 * 8;
constexpr int64_t kMaxWords = 1 << 16;
/// Far above what a model reads.
constexpr uint64_t kMaxTokens = 1 << 20;

void put(std::string &bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes.push_back(char(value >> (8 * i)));
}

/// Reads numbers one after the other; ok() until the bytes run out.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes(bytes) {}
  uint64_t take(size_t count) {
    if (bytes.size() - at < count) {
      good = false;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i)
      value |= uint64_t(bytes[at + i]) << (8 * i);
    at += count;
    return value;
  }
  bool has(uint64_t count) const { return good && bytes.size() - at >= count; }
  bool ok() const { return good; }
  size_t position() const { return at; }

private:
  std::span<const std::byte> bytes;
  size_t at = 0;
  bool good = true;
};

std::vector<int32_t> takeTokens(Reader &reader, uint64_t count) {
  std::vector<int32_t> tokens;
  if (!reader.has(2 * count))
    return reader.take(size_t(-1) / 2), tokens; // marks the end
  tokens.reserve(count);
  for (uint64_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(reader.take(2)));
  return tokens;
}

/// Nothing where the bytes end before it does, or say what cannot be.
bool takeGroup(Reader &reader, SentenceGroup &group) {
  uint64_t prompt = reader.take(4), branches = reader.take(4);
  if (prompt > kMaxTokens || !reader.has(8 * branches))
    return false;
  std::vector<uint64_t> lengths;
  for (uint64_t i = 0; i < branches; ++i) {
    lengths.push_back(reader.take(4));
    uint64_t begin = reader.take(4);
    if (lengths[i] > kMaxTokens || begin < 1 || begin >= lengths[i])
      return false;
    group.branches.push_back({{}, int32_t(begin)});
  }
  group.prompt = takeTokens(reader, prompt);
  for (uint64_t i = 0; i < branches; ++i)
    group.branches[i].tokens = takeTokens(reader, lengths[i]);
  return reader.ok();
}

bool below(const std::vector<int32_t> &tokens, int64_t words) {
  return std::ranges::all_of(
      tokens, [&](int32_t token) { return token >= 0 && token < words; });
}

/// Whether a group may stand in a file of so many words.
bool isLegal(const SentenceGroup &group, int64_t words) {
  if (group.prompt.empty() || group.branches.empty() ||
      !below(group.prompt, words))
    return false;
  return std::ranges::all_of(group.branches, [&](const Branch &branch) {
    return branch.lossBegin >= 1 &&
           branch.lossBegin < int64_t(branch.tokens.size()) &&
           below(branch.tokens, words);
  });
}

} // namespace

Result<SentenceFile> SentenceFile::open(const std::string &path) {
  TLM_TRY(auto file, MappedFile::open(path));
  return parse({file->data(), file->sizeBytes()}, file, path);
}

Result<SentenceFile> SentenceFile::parse(std::span<const std::byte> bytes,
                                         std::shared_ptr<const void> owner,
                                         const std::string &where) {
  auto refuse = [&](const std::string &what) {
    return makeError(where + ": " + what);
  };
  if (bytes.size() < kHeaderBytes ||
      std::string_view(reinterpret_cast<const char *>(bytes.data()),
                       kMagic.size()) != kMagic)
    return refuse("is no file of sentences");
  Reader header(bytes.first(kHeaderBytes).subspan(kMagic.size()));
  if (uint64_t version = header.take(8); version != kVersion)
    return refuse("has the version " + std::to_string(version) +
                  "; allowed: " + std::to_string(kVersion));
  SentenceFile file;
  file.owner = std::move(owner);
  file.payload = bytes.subspan(kHeaderBytes);
  file.id.version = int64_t(header.take(8));
  uint64_t words = header.take(8);
  file.id.hash = header.take(8);
  uint64_t groups = header.take(8), size = header.take(8);
  file.contents = header.take(8);
  if (words > uint64_t(kMaxWords))
    return refuse("has " + std::to_string(words) + " words; allowed: up to " +
                  std::to_string(kMaxWords));
  file.words = int64_t(words);
  if (size != file.payload.size())
    return refuse("has " + std::to_string(file.payload.size()) +
                  " bytes of groups; its header says " + std::to_string(size));
  std::span<const std::byte> piece = file.payload;
  if (hashOfData({&piece, 1}) != file.contents)
    return refuse("is damaged: the hash of the groups is another one");

  Reader reader(file.payload);
  for (uint64_t i = 0; i < groups; ++i) {
    file.offsets.push_back(reader.position());
    SentenceGroup group;
    if (!takeGroup(reader, group) || !isLegal(group, file.words))
      return refuse("group " + std::to_string(i) + " is malformed");
    int64_t cost = int64_t(group.prompt.size());
    for (const Branch &branch : group.branches) {
      cost += int64_t(branch.tokens.size());
      file.longestSentence =
          std::max(file.longestSentence,
                   int64_t(group.prompt.size() + branch.tokens.size()));
    }
    file.costs.push_back(cost);
  }
  if (reader.position() != file.payload.size())
    return refuse("has bytes behind the last group");
  return file;
}

SentenceGroup SentenceFile::group(int64_t i) const {
  Reader reader(payload.subspan(offsets[size_t(i)]));
  SentenceGroup group;
  takeGroup(reader, group);
  return group;
}

Status tlm::writeSentences(const std::string &path, const VocabularyId &id,
                           int64_t vocabulary,
                           const std::vector<SentenceGroup> &groups) {
  TLM_CHECK(vocabulary <= kMaxWords) << vocabulary << " words";
  std::string payload;
  for (const SentenceGroup &group : groups) {
    TLM_CHECK(isLegal(group, vocabulary)) << "of " << path;
    put(payload, group.prompt.size(), 4);
    put(payload, group.branches.size(), 4);
    for (const Branch &branch : group.branches) {
      put(payload, branch.tokens.size(), 4);
      put(payload, uint64_t(branch.lossBegin), 4);
    }
    for (int32_t token : group.prompt)
      put(payload, uint64_t(token), 2);
    for (const Branch &branch : group.branches)
      for (int32_t token : branch.tokens)
        put(payload, uint64_t(token), 2);
  }
  std::span<const std::byte> piece = std::as_bytes(std::span(payload));
  std::string bytes(kMagic);
  for (uint64_t value : {kVersion, uint64_t(id.version), uint64_t(vocabulary),
                         id.hash, uint64_t(groups.size()),
                         uint64_t(payload.size()), hashOfData({&piece, 1})})
    put(bytes, value, 8);
  return writeFileAtomically(path, bytes + payload);
}
