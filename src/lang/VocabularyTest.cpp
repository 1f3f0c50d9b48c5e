#include "lang/Vocabulary.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

using namespace tlm;

/// The words of the first version. Never changes: what is appended is locked by
/// a row of its own.
TEST(Vocabulary, NumbersOfWordsAreLocked) {
  const Vocabulary &vocabulary = Vocabulary::get();
  struct Row {
    size_t count;
    const char *hash;
  };
  constexpr Row kRows[] = {
      {1621, "c3760a42a4daf9eb"},
      {1762, "a72bf9c9263f34a5"}, // cache_tile
      {1764, "756af25e70cfa0ab"}, // winograd_tile
  };
  for (Row row : kRows) {
    ASSERT_GE(vocabulary.size(), row.count);
    EXPECT_EQ(vocabulary.hash(row.count), row.hash)
        << "the first " << row.count << " words have changed";
  }
}

TEST(Vocabulary, SpecialWords) {
  const Vocabulary &vocabulary = Vocabulary::get();
  EXPECT_EQ(vocabulary.word(kPad), "[PAD]");
  EXPECT_EQ(vocabulary.word(kEnd), "[EOS]");
  EXPECT_EQ(vocabulary.word(kHardware), "[HW]");
  EXPECT_EQ(vocabulary.word(kTask), "[TASK]");
  EXPECT_EQ(vocabulary.word(kQuality), "[Q]");
  EXPECT_EQ(vocabulary.word(kAnswer), "[ANS]");
  EXPECT_EQ(vocabulary.word(kUnknown), "[?]");
}

TEST(Vocabulary, HasTheWordsThatAreNeeded) {
  const Vocabulary &vocabulary = Vocabulary::get();
  std::set<std::string> needed;
  std::string missing, line;
  for (const std::string &word : neededWords()) {
    EXPECT_TRUE(needed.insert(word).second) << word << " twice";
    if (vocabulary.find(word))
      continue;
    if (line.size() + word.size() > 100)
      missing += "TLM_WORDS(\"" + std::exchange(line, "") + "\")\n";
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty())
    missing += "TLM_WORDS(\"" + line + "\")\n";
  EXPECT_TRUE(missing.empty()) << "append to Words.def:\n" << missing;
  for (Token token = 0; size_t(token) < vocabulary.size(); ++token)
    EXPECT_TRUE(needed.count(std::string(vocabulary.word(token))))
        << vocabulary.word(token) << " is needed by nothing";
}

TEST(Vocabulary, WordsHaveNoBlanksAndAreFound) {
  const Vocabulary &vocabulary = Vocabulary::get();
  for (Token token = 0; size_t(token) < vocabulary.size(); ++token) {
    std::string_view word = vocabulary.word(token);
    EXPECT_EQ(word.find_first_of(" \t\n"), word.npos) << word;
    EXPECT_EQ(vocabulary.find(word), token);
  }
  EXPECT_FALSE(vocabulary.find("convolution"));
  EXPECT_FALSE(vocabulary.find(""));
  EXPECT_FALSE(vocabulary.contains(-1));
  EXPECT_FALSE(vocabulary.contains(Token(vocabulary.size())));
}

TEST(Vocabulary, HashTellsPrefixesApart) {
  const Vocabulary &vocabulary = Vocabulary::get();
  EXPECT_EQ(vocabulary.hash(), vocabulary.hash(vocabulary.size()));
  EXPECT_NE(vocabulary.hash(), vocabulary.hash(vocabulary.size() - 1));
}

TEST(Vocabulary, TextOfAnyTokens) {
  EXPECT_EQ(wordsText({kTask, -3, 99999, kEnd}), "[TASK] <-3> <99999> [EOS]");
  EXPECT_EQ(wordsText({}), "");
}
