#include "lang/TaskSentence.h"

#include "lang/LangTestTasks.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

std::vector<Token> tokensOf(const Task &task) {
  std::vector<Token> tokens;
  appendTask(tokens, task);
  return tokens;
}

std::string errorOf(std::string_view text) {
  std::vector<Token> tokens = readWords(text);
  TokenReader reader(tokens);
  Result<Task> task = readTask(reader);
  return task ? "" : task.error().message;
}

void expectSame(const Task &task) {
  std::vector<Token> tokens = tokensOf(task);
  TokenReader reader(tokens);
  Result<Task> back = readTask(reader);
  ASSERT_TRUE(back) << back.error().message << '\n'
                    << wordsText(tokens) << '\n'
                    << task.text();
  ASSERT_TRUE(reader.atEnd()) << wordsText(tokens);
  ASSERT_EQ(back->text(), task.text()) << wordsText(tokens);
}

} // namespace

TEST(TaskSentence, Convolution) {
  Task task = taskOf("kind conv\n"
                     "operand input f32 nhwc[1,64,56,56]c64 border(1,1,1,1)=0\n"
                     "operand weight const f32 plain[64,64,3,3]\n"
                     "operand bias const f32 plain[64]\n"
                     "operand extra f32 nhwc[1,64,56,56]c64\n"
                     "operand output f32 nhwc[1,64,56,56]c64\n"
                     "window 3 stride 1 dilation 1 pad 1 1\n"
                     "window 3 stride 1 dilation 1 pad 1 1\n"
                     "point add acc operand3\npoint clip point0 b=6\n");
  EXPECT_EQ(wordsText(tokensOf(task)),
            "[TASK] conv par 1 ~2^6 *64 ~2^5 *8 *7 ~2^5 *8 *7 red ~2^6 *64 3 3 "
            "window @5 pad 1 1 same "
            "input f32 nhwc @0 @4 @2 @3 ring 1 "
            "weight const f32 plain @1 @4 @5 @6 "
            "bias const f32 plain @1 "
            "extra f32 nhwc @0 @1 @2 @3 "
            "output f32 nhwc "
            "add acc operand 3 clip point 0 b 6");
  expectSame(task);
}

TEST(TaskSentence, OtherKinds) {
  EXPECT_EQ(wordsText(tokensOf(taskOf(
                "kind matmul\noperand input f32 plain[1,1280]\n"
                "operand weight const f32 plain[1000,1280]\n"
                "operand output f32 plain[1,1000]\ntransposed_weight\n"))),
            "[TASK] matmul par 1 ~2^9 *8 *125 red ~2^10 *256 *5 "
            "transposed_weight input f32 plain @0 @2 "
            "weight const f32 plain @1 @2 output f32 plain");
  EXPECT_EQ(wordsText(tokensOf(
                taskOf("kind attention\noperand input f32 plain[1,128,768]\n"
                       "operand input f32 plain[1,128,768]\n"
                       "operand input f32 plain[1,128,768]\n"
                       "operand output f32 plain[1,128,768]\n"
                       "heads 12 key_heads 12 scale 0.125\n"))),
            "[TASK] attention par 1 ~2^7 *128 ~2^9 *256 *3 red ~2^7 *128 "
            "~2^6 *64 heads 12 key_heads 12 scale ~2^6 *125 e - 3 "
            "input f32 plain @0 @1 ~2^9 *256 *3 "
            "input f32 plain @0 @3 ~2^9 *256 *3 "
            "input f32 plain @0 @3 @2 output f32 plain");
  EXPECT_EQ(wordsText(tokensOf(
                taskOf("kind compute\noperand input f32 plain[4,3]\n"
                       "operand output f32 plain[4]\nloops [4] reductions [3]\n"
                       "%0 = loop 0\n%1 = loop 1\n%2 = load f32 0 [%0, %1]\n"
                       "%3 = reduce max %2\nresult %3\n"))),
            "[TASK] compute par 4 red 3 input f32 plain @0 @1 output f32 plain "
            "%loop 0 %loop 1 %load f32 0 2 1 %reduce by:max 1 result 1");
}

TEST(TaskSentence, TasksReadBack) {
  for (const Task &task : langTestTasks())
    expectSame(task);
}

TEST(TaskSentence, TenThousandRandomTasksReadBack) {
  Random random(1);
  for (int i = 0; i < 10000; ++i)
    expectSame(randomTask(random));
}

TEST(TaskSentence, ErrorsNameThePlaceAndTheCause) {
  EXPECT_EQ(errorOf("[TASK] softmax par 8 7 red 7 input f32 plain @0 @1 "
                    "output f32 plain"),
            "");
  EXPECT_EQ(errorOf("softmax"), "token 0, 'softmax': expected [TASK]");
  EXPECT_EQ(errorOf("[TASK] input"),
            "token 1, 'input': expected a kind of task");
  EXPECT_EQ(errorOf("[TASK] softmax red"), "token 2, 'red': expected 'par'");
  EXPECT_EQ(errorOf("[TASK] softmax par 8 input f32 plain @1"),
            "token 7, '@1': one of 1 loops was expected");
  EXPECT_EQ(errorOf("[TASK] softmax par 8 7 input plain"),
            "token 6, 'plain': expected an element type");
  EXPECT_EQ(errorOf("[TASK] softmax par 8 7 red 7 input f32 plain @0 @1"),
            "token 0, '[TASK]': no task: operands do not start with an input "
            "and end with the output");
  EXPECT_EQ(errorOf("[TASK] softmax par 8 7 red 8 input f32 plain @0 @1 "
                    "output f32 plain"),
            "token 6, '8': a task that is written with '7' here");
  EXPECT_EQ(errorOf("[TASK] softmax par 8 7 red 7 input f32 plain 8 @1 "
                    "output f32 plain"),
            "token 10, '8': a task that is written with '@0' here");
  EXPECT_EQ(errorOf("[TASK] copy par 8 same"),
            "token 4, 'same': there is no window before it");
  EXPECT_EQ(errorOf("[TASK] compute par 8 output f32 plain %add 1"),
            "token 8, '1': one of the 0 operations before was expected");
  EXPECT_EQ(errorOf("[TASK] attention par 8 heads - "),
            "token 6, the end: expected a number");
}

/// Tokens replaced, dropped, doubled: refused, or written back the same.
TEST(TaskSentence, MutatedSentences) {
  Random random(2);
  std::vector<Task> tasks = langTestTasks();
  int refused = 0, accepted = 0;
  for (int i = 0; i < 60000; ++i) {
    std::vector<Token> tokens = tokensOf(
        i % 2 ? randomTask(random) : tasks[random.below(tasks.size())]);
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      size_t at = random.below(tokens.size());
      switch (random.below(4)) {
      case 0:
        tokens[at] = Token(random.below(Vocabulary::get().size()));
        break;
      case 1:
        tokens[at] = tokens[random.below(tokens.size())];
        break;
      case 2:
        if (tokens.size() > 1)
          tokens.erase(tokens.begin() + std::ptrdiff_t(at));
        break;
      default:
        tokens.insert(tokens.begin() + std::ptrdiff_t(at), tokens[at]);
        break;
      }
    }
    TokenReader reader(tokens);
    Result<Task> task = readTask(reader);
    ++(task ? accepted : refused);
    if (task) {
      std::vector<Token> again = tokensOf(*task);
      ASSERT_TRUE(std::ranges::equal(reader.since(0), again));
    }
  }
  EXPECT_GT(refused, 30000);
  EXPECT_GT(accepted, 100);
}
