#include "lang/Sentence.h"

#include "lang/LangTestTasks.h"

#include <gtest/gtest.h>

using namespace tlm;

TEST(Sentence, PromptsReadBack) {
  Random random(1);
  for (const Target &target : langTestTargets())
    for (const Task &task : langTestTasks()) {
      Hardware hardware = Hardware::of(target);
      Quality quality;
      if (random.below(4))
        quality = int(random.below(kQualityBuckets));
      std::vector<Token> tokens = prompt(hardware, task, quality);
      Result<Prompt> back = parsePrompt(tokens);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->hardware, hardware);
      EXPECT_EQ(back->task.text(), task.text());
      EXPECT_EQ(back->quality, quality);
      EXPECT_EQ(prompt(back->hardware, back->task, back->quality), tokens);
    }
}

TEST(Sentence, PrefixDoesNotDependOnTheQuality) {
  Task task = spaceTestTasks()[0];
  Hardware hardware = Hardware::of(targetOf("znver5", 2));
  std::vector<Token> prefix = promptPrefix(hardware, task);
  for (Quality quality : {Quality(), Quality(0), Quality(5)}) {
    std::vector<Token> tokens = prompt(hardware, task, quality);
    ASSERT_EQ(tokens.size(), prefix.size() + 3);
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), tokens.begin()));
  }
}

TEST(Sentence, CutAnywhereIsRefused) {
  std::vector<Token> tokens = prompt(Hardware::of(targetOf("znver5", 2)),
                                     spaceTestTasks()[0], Quality(0));
  ASSERT_TRUE(parsePrompt(tokens));
  for (size_t size = 0; size < tokens.size(); ++size)
    EXPECT_FALSE(parsePrompt(std::span(tokens).first(size))) << size;
  size_t size = tokens.size();
  tokens.push_back(kPad);
  EXPECT_EQ(parsePrompt(tokens).error().message,
            "token " + std::to_string(size) +
                ", '[PAD]': nothing was expected behind the prompt");
  tokens.resize(size);
  tokens[size - 2] = kEnd;
  EXPECT_EQ(parsePrompt(tokens).error().message,
            "token " + std::to_string(size - 2) +
                ", '[EOS]': expected a quality or [?]");
}

TEST(Sentence, Qualities) {
  EXPECT_EQ(qualityBucket(1.2), 0);
  EXPECT_EQ(qualityBucket(0.99), 0);
  EXPECT_EQ(qualityBucket(0.98), 1);
  EXPECT_EQ(qualityBucket(0.5), 7);
  EXPECT_EQ(qualityBucket(0.01), kQualityBuckets - 1);
  EXPECT_EQ(qualityBucket(-1), kQualityBuckets - 1);
  EXPECT_EQ(wordsText({qualityToken(0), qualityToken(11), qualityToken({})}),
            "q0.99 q0 [?]");
}

TEST(Sentence, TextHasALineForEachPart) {
  std::vector<Token> tokens =
      promptPrefix({}, taskOf("kind pointwise\noperand input f32 plain[8]\n"
                              "operand output f32 plain[8]\npoint relu acc\n"));
  for (Token token : promptSuffix(Quality(0)))
    tokens.push_back(token);
  tokens.insert(tokens.end(), {kEnd, 99999});
  EXPECT_EQ(sentenceText(tokens),
            "[HW] [?] [?] [?] [?] [?] [?] [?] [?] [?] [?] [?] [?]\n"
            "[TASK] pointwise par 8\n"
            "input f32 plain @0\n"
            "output f32 plain\n"
            "relu acc\n"
            "[Q] q0.99\n"
            "[ANS] [EOS] <99999>\n");
  EXPECT_EQ(sentenceText({}), "\n");
}
