#include "lang/Answer.h"

#include "lang/AnswerCursor.h"
#include "lang/LangTestTasks.h"
#include "space/DefaultSchedule.h"
#include "space/ScheduleChecker.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tlm;

namespace {

/// The 3x3 convolution 56x56x64.
Task squareConv() { return spaceTestTasks()[2]; }

std::string errorOf(const Space &space, std::string_view text) {
  Result<Schedule> schedule = parseAnswer(space, readWords(text));
  return schedule ? "" : schedule.error().message;
}

} // namespace

TEST(Answer, SchedulesReadBack) {
  Random random(1);
  int64_t sentences = 0;
  std::vector<Task> tasks = langTestTasks();
  for (int i = 0; i < 500; ++i)
    tasks.push_back(randomTask(random));
  for (const Target &target : langTestTargets())
    for (const Task &task : tasks) {
      Space space(task, target);
      std::vector<Schedule> schedules = {defaultSchedule(task, target)};
      for (int i = 0; i < 6; ++i)
        schedules.push_back(space.sample(random));
      for (const Schedule &schedule : schedules) {
        Result<std::vector<Token>> tokens = answer(space, schedule);
        ASSERT_TRUE(tokens) << tokens.error().message;
        ASSERT_EQ(tokens->back(), kEnd);
        Result<Schedule> back = parseAnswer(space, *tokens);
        ASSERT_TRUE(back) << back.error().message;
        ASSERT_EQ(*back, schedule);
        ++sentences;
      }
    }
  EXPECT_GT(sentences, 10000);
}

/// Whatever is taken of what is allowed, the whole is legal.
TEST(Answer, CursorWritesLegalSchedules) {
  Random random(2);
  std::vector<Task> tasks = langTestTasks();
  for (int i = 0; i < 300; ++i)
    tasks.push_back(randomTask(random));
  for (const Target &target : langTestTargets())
    for (const Task &task : tasks) {
      Space space(task, target);
      for (int i = 0; i < 5; ++i) {
        AnswerCursor cursor(space);
        std::vector<Token> tokens;
        while (!cursor.done()) {
          std::span<const int32_t> allowed = cursor.allowed();
          ASSERT_FALSE(allowed.empty());
          // A decision is asked where there is a choice.
          ASSERT_TRUE(allowed.size() > 1 || allowed[0] == kEnd);
          tokens.push_back(allowed[random.below(allowed.size())]);
          cursor.take(tokens.back());
        }
        EXPECT_TRUE(cursor.allowed().empty());
        Schedule schedule = cursor.schedule();
        ASSERT_TRUE(space.check(schedule));
        ASSERT_EQ(checkSchedule(task, target, schedule), "");
        Result<std::vector<Token>> again = answer(space, schedule);
        ASSERT_TRUE(again);
        ASSERT_EQ(*again, tokens);
      }
    }
}

TEST(Answer, CopiesOfACursorGoTheirOwnWays) {
  Space space(squareConv(), targetOf("znver5", 2));
  AnswerCursor cursor(space);
  AnswerCursor other = cursor;
  cursor.take(cursor.allowed().front());
  EXPECT_EQ(other.point()->decision, Decision::Algorithm);
  other.take(other.allowed().back());
  EXPECT_NE(wordsText({cursor.allowed().begin(), cursor.allowed().end()}),
            wordsText({other.allowed().begin(), other.allowed().end()}));
}

TEST(Answer, NothingToDecideIsOnlyAnEnd) {
  Space space(taskOf("kind compute\noperand output i64 plain[]\nloops []\n"
                     "%0 = const i64 1\nresult %0\n"),
              targetOf("znver5", 2));
  AnswerCursor cursor(space);
  EXPECT_FALSE(cursor.done());
  ASSERT_EQ(cursor.allowed().size(), 1u);
  EXPECT_EQ(cursor.allowed()[0], kEnd);
  cursor.take(kEnd);
  EXPECT_TRUE(cursor.done());
  EXPECT_EQ(errorOf(space, "[EOS]"), "");
}

TEST(Answer, ErrorsNameThePlaceAndTheLegalWords) {
  Space space(squareConv(), targetOf("znver5", 1));
  EXPECT_EQ(errorOf(space, "algorithm=plain"),
            "answer, token 0 'algorithm=plain': is not legal for algorithm; "
            "legal: algorithm=direct algorithm=winograd_blocked "
            "algorithm=winograd_staged");
  EXPECT_EQ(errorOf(space, "algorithm=direct register_row=5"),
            "answer, token 1 'register_row=5': is not legal for register_row "
            "f; legal: register_row=1 register_row=2 register_row=3 "
            "register_row=4");
  EXPECT_EQ(errorOf(space, "algorithm=direct [EOS]").substr(0, 45),
            "answer, token 1 '[EOS]': is not legal for reg");
  EXPECT_EQ(errorOf(space, "algorithm=direct"),
            "answer of 1 tokens ends before register_row f");
  Random random(3);
  Result<std::vector<Token>> tokens = answer(space, space.sample(random));
  ASSERT_TRUE(tokens);
  std::string text = wordsText(*tokens), place = std::to_string(tokens->size());
  EXPECT_EQ(errorOf(space, text + " [EOS]"),
            "answer, token " + place + " '[EOS]': follows [EOS]");
  tokens->pop_back();
  Result<Schedule> open = parseAnswer(space, *tokens);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message, "answer of " +
                                      std::to_string(tokens->size()) +
                                      " tokens ends before [EOS]");
  EXPECT_FALSE(parseAnswer(space, std::vector<Token>{-7}));
  EXPECT_FALSE(answer(space, {}));
}

/// One token replaced, dropped or added: refused, or another legal sentence.
TEST(Answer, MutatedSentences) {
  Random random(4);
  int refused = 0, accepted = 0;
  for (const Task &task : langTestTasks()) {
    Space space(task, targetOf("sapphirerapids", 16));
    for (int i = 0; i < 200; ++i) {
      std::vector<Token> tokens = *answer(space, space.sample(random));
      size_t at = random.below(tokens.size());
      switch (random.below(4)) {
      case 0:
        tokens[at] = Token(random.below(Vocabulary::get().size()));
        break;
      case 1:
        tokens[at] += 1;
        break;
      case 2:
        tokens.erase(tokens.begin() + std::ptrdiff_t(at));
        break;
      default:
        tokens.insert(tokens.begin() + std::ptrdiff_t(at), tokens[at]);
        break;
      }
      Result<Schedule> schedule = parseAnswer(space, tokens);
      ++(schedule ? accepted : refused);
      if (schedule)
        ASSERT_EQ(*answer(space, *schedule), tokens);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 100);
}
