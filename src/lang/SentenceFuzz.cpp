// libFuzzer: whatever the tokens are, the parsers return; what they accept is
// written back the same, and an answer they accept is a legal schedule.

#include "base/Check.h"
#include "lang/Answer.h"
#include "lang/LangTestTasks.h"
#include "lang/Sentence.h"

#include <algorithm>

using namespace tlm;

namespace {

const Target &machine() {
  static const Target target = targetOf("znver5", 2);
  return target;
}

Token tokenOf(const uint8_t *data) {
  // Some are no words.
  return Token(data[0] | data[1] << 8) % 2048 - 1;
}

/// A sentence of a random task with some of its tokens replaced, dropped or
/// doubled: three bytes each.
std::vector<Token> damagedSentence(const uint8_t *data, size_t size) {
  Random random(data[0]);
  Task task = randomTask(random);
  Space space(task, machine());
  std::vector<Token> tokens = prompt(Hardware::of(machine()), task, Quality(3));
  std::vector<Token> choices = *answer(space, space.sample(random));
  tokens.insert(tokens.end(), choices.begin(), choices.end());
  for (size_t i = 1; i + 2 < size && !tokens.empty(); i += 3) {
    auto at = tokens.begin() + std::ptrdiff_t(data[i] % tokens.size());
    Token token = tokenOf(data + i + 1);
    if (token < 1800)
      *at = token;
    else if (token < 1900)
      tokens.erase(at);
    else
      tokens.insert(at, *at);
  }
  return tokens;
}

std::vector<Token> plainTokens(const uint8_t *data, size_t size) {
  std::vector<Token> tokens;
  for (size_t i = 0; i + 1 < size; i += 2)
    tokens.push_back(tokenOf(data + i));
  return tokens;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  std::vector<Token> tokens = data[0] % 2 ? plainTokens(data + 1, size - 1)
                                          : damagedSentence(data + 1, size - 1);
  TokenReader reader(tokens);
  Result<Prompt> found = readPrompt(reader);
  if (!found)
    return 0;
  std::vector<Token> again =
      prompt(found->hardware, found->task, found->quality);
  TLM_CHECK(std::ranges::equal(reader.since(0), again)) << wordsText(again);
  Space space(found->task, machine());
  std::vector<Token> rest(tokens.begin() + std::ptrdiff_t(reader.position()),
                          tokens.end());
  if (Result<Schedule> schedule = parseAnswer(space, rest)) {
    TLM_CHECK(space.check(*schedule));
    TLM_CHECK(*answer(space, *schedule) == rest);
  }
  return 0;
}
