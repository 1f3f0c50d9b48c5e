#include "train/AnswerRanks.h"
#include "lang/Sentence.h"
#include "train/ScheduleSentences.h"
#include "train/TrainTestData.h"
#include "train/Trainer.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

constexpr Token kFast = 100, kSlow = 101;
constexpr int kSlowBucket = 6; ///< 0.6 to 0.7

Branch branchOf(Token choice, Quality before, Quality after) {
  Branch branch{promptSuffix(before), 3};
  branch.tokens.insert(branch.tokens.end(), {choice, kEnd});
  if (after)
    branch.tokens.push_back(qualityToken(after));
  return branch;
}

/// Two answers, one of a bucket before it and one of a bucket behind it.
SentenceGroup groupOf(Token prompt, Token first, Quality firstBucket,
                      Token second, Quality secondBucket) {
  return {{prompt, Token(prompt + 1)},
          {branchOf(first, firstBucket, std::nullopt),
           branchOf(second, std::nullopt, secondBucket)}};
}

class AnswerRanksTest : public testing::Test {
protected:
  /// A model that has learnt that kFast is fast, behind any prompt.
  void SetUp() override {
    configureTorch(1);
    std::vector<SentenceGroup> groups;
    for (Token prompt = 200; prompt < 240; ++prompt) {
      groups.push_back(groupOf(prompt, kFast, 0, kSlow, kSlowBucket));
      groups.push_back(groupOf(prompt, kSlow, kSlowBucket, kFast, 0));
    }
    write("data", groups);
    TrainOptions options;
    options.layers = 1;
    options.heads = 2;
    options.width = 32;
    options.positions = 16;
    options.steps = 60;
    options.batchTokens = 400;
    options.warmup = 5;
    options.rate = 5e-3;
    Result<TrainResult> result =
        train(options, {folder.file("data"), "", "", folder.file("model")}, {},
              {}, [](const std::string &) {});
    ASSERT_TRUE(result.ok()) << result.error().message;
  }
  void write(const std::string &name,
             const std::vector<SentenceGroup> &groups) {
    ASSERT_TRUE(writeSentences(folder.file(name), vocabularyIdOfLanguage(),
                               int64_t(Vocabulary::get().size()), groups)
                    .ok());
  }
  AnswerRanks ranksOf(const std::vector<SentenceGroup> &groups) {
    write("judged", groups);
    Result<Evaluation> evaluation =
        evaluate(folder.file("model"), "", folder.file("judged"));
    EXPECT_TRUE(evaluation.ok());
    return evaluation->ranks;
  }

  TrainFolder folder;
};

TEST_F(AnswerRanksTest, RightWrongAndUnknownOrders) {
  AnswerRanks right = ranksOf({groupOf(205, kSlow, kSlowBucket, kFast, 0),
                               groupOf(206, kFast, 0, kSlow, kSlowBucket)});
  for (const RankSums &sums : {right.byProbability, right.byJudgement}) {
    EXPECT_EQ(sums.tasks, 2);
    EXPECT_EQ(sums.candidates, 4);
    EXPECT_EQ(sums.pairs, 2);
    EXPECT_EQ(sums.rightPairs, 2);
    EXPECT_DOUBLE_EQ(sums.spearman, 2);
    EXPECT_DOUBLE_EQ(sums.logLoss, 0);
  }
  AnswerRanks wrong = ranksOf({groupOf(205, kSlow, 0, kFast, kSlowBucket)});
  for (const RankSums &sums : {wrong.byProbability, wrong.byJudgement}) {
    EXPECT_EQ(sums.rightPairs, 0);
    EXPECT_DOUBLE_EQ(sums.spearman, -1);
    EXPECT_NEAR(sums.logLoss, std::log(0.995 / 0.65), 1e-9);
  }
  // One bucket is no order, and an answer of unknown quality no part of one.
  AnswerRanks none =
      ranksOf({groupOf(205, kSlow, 0, kFast, 0),
               groupOf(206, kFast, std::nullopt, kSlow, kSlowBucket)});
  EXPECT_EQ(none.byProbability.tasks, 0);
  EXPECT_EQ(none.byJudgement.tasks, 0);
}

} // namespace
