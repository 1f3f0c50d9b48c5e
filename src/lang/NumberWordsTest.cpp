#include "lang/NumberWords.h"
#include "lang/LangTestTasks.h"

#include "base/Random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

using namespace tlm;

namespace {

std::vector<Token> integer(int64_t value) {
  std::vector<Token> tokens;
  appendInteger(tokens, value);
  return tokens;
}

template <typename T>
std::vector<Token> real(T value) {
  std::vector<Token> tokens;
  appendReal(tokens, value);
  return tokens;
}

std::string errorOf(std::string_view text) {
  std::vector<Token> tokens = readWords(text);
  TokenReader reader(tokens);
  Result<int64_t> value = readInteger(reader);
  return value ? "" : value.error().message;
}

void expectSame(int64_t value) {
  std::vector<Token> tokens = integer(value);
  TokenReader reader(tokens);
  ASSERT_TRUE(beginsInteger(reader));
  Result<int64_t> back = readInteger(reader);
  ASSERT_TRUE(back) << value << ": " << back.error().message;
  ASSERT_EQ(*back, value) << wordsText(tokens);
  ASSERT_TRUE(reader.atEnd()) << value;
}

} // namespace

TEST(NumberWords, Examples) {
  EXPECT_EQ(wordsText(integer(0)), "0");
  EXPECT_EQ(wordsText(integer(16)), "16");
  EXPECT_EQ(wordsText(integer(17)), "~2^4 .17");
  EXPECT_EQ(wordsText(integer(56)), "~2^5 *8 *7");
  EXPECT_EQ(wordsText(integer(64)), "~2^6 *64");
  EXPECT_EQ(wordsText(integer(197)), "~2^7 .3 .5");
  EXPECT_EQ(wordsText(integer(768)), "~2^9 *256 *3");
  EXPECT_EQ(wordsText(integer(1009)), "~2^9 .15 .49");
  EXPECT_EQ(wordsText(integer(1013)), "~2^9 .15 .53");
  EXPECT_EQ(wordsText(integer(50257)), "~2^15 .12 .17 .17");
  EXPECT_EQ(wordsText(integer(-3)), "- 3");
  EXPECT_EQ(wordsText(integer(int64_t(1) << 40)), "~2^40 *65536 *65536 *256");
  EXPECT_EQ(wordsText(real(1e-5f)), "1 e - 5");
  EXPECT_EQ(wordsText(real(6.0f)), "6");
  EXPECT_EQ(wordsText(real(60.0f)), "6 e 1");
  EXPECT_EQ(wordsText(real(0.125f)), "~2^6 *125 e - 3");
  EXPECT_EQ(wordsText(real(-INFINITY)), "- inf");
  EXPECT_EQ(wordsText(real(-0.0)), "- 0");
  EXPECT_EQ(wordsText(real(std::nan(""))), "nan");
}

TEST(NumberWords, CommonExtentsAreShort) {
  for (int64_t extent :
       {1,   3,   7,   14,  16,   24,   28,   32,   40,   48,  56,  64,
        80,  96,  112, 128, 144,  160,  192,  197,  224,  256, 320, 384,
        512, 576, 640, 768, 1000, 1024, 1280, 1536, 2048, 3072})
    EXPECT_LE(integer(extent).size(), 3u) << extent;
  // A word a prime: 480 = 32 * 3 * 5.
  for (int64_t extent : {120, 240, 480, 960, 30, 210})
    EXPECT_LE(integer(extent).size(), 5u) << extent;
}

TEST(NumberWords, EveryIntegerReadsBack) {
  std::set<std::vector<Token>> all;
  for (int64_t value = 0; value < 200000; ++value) {
    expectSame(value);
    all.insert(integer(value));
  }
  EXPECT_EQ(all.size(), 200000u);
  Random random(1);
  for (int i = 0; i < 200000; ++i)
    expectSame(int64_t(random.next() >> random.below(64)));
  for (int bit = 0; bit < 63; ++bit)
    for (int64_t off = -2; off <= 2; ++off) {
      expectSame((int64_t(1) << bit) + off);
      expectSame(-(int64_t(1) << bit) + off);
    }
  expectSame(std::numeric_limits<int64_t>::max());
  expectSame(std::numeric_limits<int64_t>::min());
}

TEST(NumberWords, EveryRealReadsBack) {
  Random random(2);
  for (int i = 0; i < 100000; ++i) {
    uint64_t bits = random.next();
    float single = std::bit_cast<float>(uint32_t(bits >> 32));
    double wide = std::bit_cast<double>(random.next());
    std::vector<Token> tokens = real(single), wideTokens = real(wide);
    TokenReader reader(tokens), wideReader(wideTokens);
    Result<float> back = readFloat(reader);
    Result<double> wideBack = readDouble(wideReader);
    ASSERT_TRUE(back && wideBack && reader.atEnd() && wideReader.atEnd());
    if (std::isnan(single))
      ASSERT_TRUE(std::isnan(*back));
    else
      ASSERT_EQ(std::bit_cast<uint32_t>(*back), std::bit_cast<uint32_t>(single))
          << single;
    if (std::isnan(wide))
      ASSERT_TRUE(std::isnan(*wideBack));
    else
      ASSERT_EQ(std::bit_cast<uint64_t>(*wideBack),
                std::bit_cast<uint64_t>(wide))
          << wide;
  }
}

TEST(NumberWords, OtherWaysToWriteAreRefused) {
  EXPECT_EQ(errorOf("~2^5 *8 *7"), "");
  EXPECT_EQ(errorOf("~2^5 *7 *8"),
            "token 0, '~2^5': a number that is written '~2^5 *8 *7'");
  EXPECT_EQ(errorOf("~2^5 *2 *4 *7"),
            "token 0, '~2^5': a number that is written '~2^5 *8 *7'");
  EXPECT_EQ(errorOf("~2^5 *4 .14"),
            "token 0, '~2^5': a number that is written '~2^5 *8 *7'");
  EXPECT_EQ(errorOf("~2^4 *8 *3 *5"),
            "token 3, '*5': factors beyond the number's magnitude");
  EXPECT_EQ(errorOf("~2^5 *8"),
            "token 2, the end: expected a digit of a number");
  EXPECT_EQ(errorOf("~2^4 .5"),
            "token 0, '~2^4': a number that is written '5'");
  EXPECT_EQ(errorOf("~2^4 .63"),
            "token 0, '~2^4': a number beyond its magnitude");
  EXPECT_EQ(errorOf("- 0"), "token 0, '-': no 64-bit integer");
  EXPECT_EQ(errorOf("~2^63 *65536 *65536 *65536 *32768"),
            "token 0, '~2^63': no 64-bit integer");
  EXPECT_EQ(errorOf("conv"), "token 0, 'conv': expected a number");
  EXPECT_EQ(errorOf(""), "token 0, the end: expected a number");
}

/// What is accepted is what would have been written.
TEST(NumberWords, RandomWords) {
  Random random(3);
  std::vector<Token> words;
  for (const std::string &word : neededNumberWords())
    words.push_back(Vocabulary::get().at(word));
  int read = 0;
  for (int i = 0; i < 300000; ++i) {
    std::vector<Token> tokens;
    for (uint64_t n = random.below(6); n > 0; --n)
      tokens.push_back(words[random.below(words.size())]);
    TokenReader reader(tokens);
    if (Result<int64_t> value = readInteger(reader)) {
      ++read;
      std::vector<Token> written = integer(*value);
      ASSERT_TRUE(std::ranges::equal(reader.since(0), written));
    }
    TokenReader again(tokens);
    if (Result<float> value = readFloat(again)) {
      std::vector<Token> written = real(*value);
      ASSERT_TRUE(std::ranges::equal(again.since(0), written));
    }
  }
  EXPECT_GT(read, 1000);
}
