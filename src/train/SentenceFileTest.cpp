#include "train/SentenceFile.h"
#include "base/AtomicFile.h"
#include "train/TrainTestData.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

class SentenceFileTest : public testing::Test {
protected:
  void SetUp() override {
    path = folder.file("data");
    ASSERT_TRUE(writeSentences(path, {1, 0xabc}, 40, groups).ok());
    bytes = *readWholeFile(path);
  }
  Result<SentenceFile> parse(const std::string &text) {
    return SentenceFile::parse(std::as_bytes(std::span(text)), nullptr, "f");
  }

  TrainFolder folder;
  std::vector<SentenceGroup> groups = testGroups(9, 1);
  std::string path, bytes;
};

TEST_F(SentenceFileTest, ReadsBack) {
  Result<SentenceFile> file = SentenceFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->size(), 9);
  int64_t longest = 0;
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(file->group(i), groups[size_t(i)]);
    auto tokens = int64_t(groups[size_t(i)].prompt.size());
    for (const Branch &branch : groups[size_t(i)].branches) {
      longest = std::max(longest, int64_t(groups[size_t(i)].prompt.size() +
                                          branch.tokens.size()));
      tokens += int64_t(branch.tokens.size());
    }
    EXPECT_EQ(file->tokensOf(i), tokens);
  }
  EXPECT_EQ(file->longest(), longest);
  EXPECT_EQ(file->vocabulary(), 40);
  EXPECT_EQ(file->vocabularyId(), (VocabularyId{1, 0xabc}));
}

TEST_F(SentenceFileTest, TruncatedAnywhereIsRefused) {
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse(bytes.substr(0, size)).ok()) << size;
}

TEST_F(SentenceFileTest, EveryBitFlippedIsRefusedUnlessItIsTheVocabularys) {
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
    Result<SentenceFile> file = parse(damaged);
    bool ofVocabulary = bit / 8 >= 16 && bit / 8 < 40;
    EXPECT_TRUE(!file.ok() || ofVocabulary) << bit / 8;
  }
}

TEST_F(SentenceFileTest, RefusalsSayWhy) {
  std::string version = bytes;
  version[8] = 2;
  EXPECT_EQ(parse(version).error().message, "f: has the version 2; allowed: 1");
  EXPECT_EQ(parse("GGUF").error().message, "f: is no file of sentences");
  std::string flipped = bytes;
  flipped.back() ^= 1;
  EXPECT_EQ(parse(flipped).error().message,
            "f: is damaged: the hash of the groups is another one");
}

} // namespace
