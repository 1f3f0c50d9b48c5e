#include "lang/ChoiceWords.h"

#include "lang/LangTestTasks.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

using namespace tlm;

namespace {

/// Sizes of 4096 tiles at most, as the rules offer them.
std::vector<int64_t> tilesOf(int64_t n) {
  std::vector<int64_t> all;
  for (int64_t d = 1; d <= n; ++d)
    if (n % d == 0 && n / d <= 4096)
      all.push_back(d);
  return all;
}

std::string words(const DecisionPoint &point) {
  return wordsText(choiceTokens(point));
}

/// Each choice has a word of its own.
void expectBijective(const DecisionPoint &point) {
  std::vector<Token> tokens = choiceTokens(point);
  ASSERT_EQ(tokens.size(), point.choices.size());
  std::set<Token> distinct(tokens.begin(), tokens.end());
  ASSERT_EQ(distinct.size(), tokens.size()) << wordsText(tokens);
  ASSERT_FALSE(distinct.count(kNoToken)) << wordsText(tokens);
}

} // namespace

TEST(ChoiceWords, Examples) {
  EXPECT_EQ(words({Decision::Algorithm, "", {0, 2}}),
            "algorithm=direct algorithm=winograd_staged");
  EXPECT_EQ(words({Decision::RegisterTile, "w", {1, 7, 14}}),
            "register_tile=1 register_tile=7 register_tile=14");
  EXPECT_EQ(words({Decision::RegisterTile, "h", {1, 2}}),
            "register_tile.h=1 register_tile.h=2");
  EXPECT_EQ(words({Decision::ParallelTile, "rows", {56, 98, 392, 3136}}),
            "parallel_tile=56 parallel_tile=~2^6 parallel_tile=top/8 "
            "parallel_tile=top/1");
  // 72, 96 and 120 are in one octave, and no whole parts of 5760 / 16 and more.
  EXPECT_EQ(words({Decision::ParallelTile, "f", {72, 96, 120, 360, 5760}}),
            "parallel_tile.f=~2^6 parallel_tile.f=~2^6+1 "
            "parallel_tile.f=~2^6+2 parallel_tile.f=top/16 "
            "parallel_tile.f=top/1");
  // A decision without large numbers: the largest is the first.
  EXPECT_EQ(words({Decision::TileRows, "", {4, 70, 100}}),
            "tile_rows=4 choice#1 choice#0");
}

TEST(ChoiceWords, EveryChoiceOfEveryTaskHasItsOwn) {
  Random random(7);
  std::vector<Task> tasks = langTestTasks();
  for (int i = 0; i < 2000; ++i)
    tasks.push_back(randomTask(random));
  int64_t points = 0;
  std::map<Token, Decision> meant;
  for (const Target &target : langTestTargets())
    for (const Task &task : tasks) {
      Space space(task, target);
      for (int i = 0; i < 3; ++i)
        space.write([&](const DecisionPoint &point) {
          ++points;
          expectBijective(point);
          for (Token token : choiceTokens(point)) {
            std::string_view word = Vocabulary::get().word(token);
            if (!word.starts_with("choice#"))
              EXPECT_EQ(meant.emplace(token, point.decision).first->second,
                        point.decision);
          }
          return point.choices[random.below(point.choices.size())];
        });
    }
  EXPECT_GT(points, 50000);
}

/// A number names its value wherever it stands.
TEST(ChoiceWords, SmallValuesMeanTheSameEverywhere) {
  Random random(8);
  for (int i = 0; i < 2000; ++i) {
    DecisionPoint point{Decision::ParallelTile, "rows", {}};
    for (int64_t value = 1; value < 1000; value += 1 + random.below(60))
      point.choices.push_back(value);
    std::vector<Token> tokens = choiceTokens(point);
    for (size_t j = 0; j < tokens.size(); ++j)
      if (point.choices[j] <= 64)
        ASSERT_EQ(Vocabulary::get().word(tokens[j]),
                  "parallel_tile=" + std::to_string(point.choices[j]));
  }
}

TEST(ChoiceWords, ListsOfDivisors) {
  Random random(9);
  for (int64_t extent : {1, 97, 4608, 25088, 50257, 65536, 100352, 720720}) {
    expectBijective({Decision::ParallelTile, "rows", tilesOf(extent)});
    if (extent < 720720)
      expectBijective({Decision::TileRows, "", tilesOf(extent)});
  }
  for (int i = 0; i < 500; ++i)
    expectBijective({Decision::ParallelTile, "rows",
                     tilesOf(int64_t(1 + random.below(1 << 18)))});
}

/// Beyond 128 choices some may be without a word, but never two of one word.
TEST(ChoiceWords, ListsBeyondAllBounds) {
  DecisionPoint point{Decision::RegisterRow, "f", {}};
  for (int64_t value = -5; value < 1000; ++value)
    point.choices.push_back(value);
  std::vector<Token> tokens = choiceTokens(point);
  std::set<Token> distinct;
  int64_t nameless = 0;
  for (Token token : tokens)
    if (token == kNoToken)
      ++nameless;
    else
      EXPECT_TRUE(distinct.insert(token).second);
  EXPECT_EQ(nameless, 1005 - 65 - 128);
  point.choices.resize(128);
  std::iota(point.choices.begin(), point.choices.end(),
            std::numeric_limits<int64_t>::max() - 128);
  expectBijective(point);
}
