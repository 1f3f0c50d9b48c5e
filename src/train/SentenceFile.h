//===- SentenceFile.h - a data set of sentences -----------------*- C++ -*-===//
//
// Prompts, each with the branches that go on from it: a quality, an answer and
// maybe what it was worth. A branch sees the prompt and itself, as if the rest
// were not there, so a prompt is read once for all of them:
//
//   [HW] ... [TASK] ...                      prompt
//     [Q] q0.99 [ANS] choice ... [EOS]       branch; lossBegin = 3
//     [Q] [?] [ANS] choice ... [EOS] q0.9    branch; lossBegin = 3
//
// The file: a header with magic, version, vocabulary, sizes and a hash of the
// rest; then the groups, tokens as 16 bits; all numbers little-endian. The
// whole file is checked when it is opened.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_SENTENCEFILE_H
#define TLM_TRAIN_SENTENCEFILE_H

#include "base/MappedFile.h"
#include "model/ModelConfig.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tlm {

struct Branch {
  std::vector<int32_t> tokens;
  /// The first token that is to be learnt, at least 1; the ones before it are
  /// given.
  int32_t lossBegin = 1;
  bool operator==(const Branch &) const = default;
};

struct SentenceGroup {
  std::vector<int32_t> prompt;
  std::vector<Branch> branches;
  bool operator==(const SentenceGroup &) const = default;
};

class SentenceFile {
public:
  static Result<SentenceFile> open(const std::string &path);
  static Result<SentenceFile> parse(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner,
                                    const std::string &where);

  int64_t size() const { return int64_t(offsets.size()); }
  SentenceGroup group(int64_t i) const;
  /// Of the prompt and the branches; what a group costs.
  int64_t tokensOf(int64_t i) const { return costs[size_t(i)]; }
  /// Tokens of the longest sentence.
  int64_t longest() const { return longestSentence; }

  VocabularyId vocabularyId() const { return id; }
  /// All tokens are below it.
  int64_t vocabulary() const { return words; }
  /// Of the contents.
  uint64_t hash() const { return contents; }

private:
  std::shared_ptr<const void> owner;
  std::span<const std::byte> payload;
  std::vector<size_t> offsets; ///< of the groups in the payload
  std::vector<int64_t> costs;
  int64_t longestSentence = 0, words = 0;
  VocabularyId id;
  uint64_t contents = 0;
};

/// Atomic. Tokens must be below `vocabulary`, which is at most 65,536, and
/// every branch must have one to learn.
Status writeSentences(const std::string &path, const VocabularyId &id,
                      int64_t vocabulary,
                      const std::vector<SentenceGroup> &groups);

} // namespace tlm

#endif // TLM_TRAIN_SENTENCEFILE_H
