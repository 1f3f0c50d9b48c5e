// libFuzzer: whatever the tokens are, the parsers return; what they accept is
// written back the same, and an answer they accept is a legal schedule.

#include "base/Check.h"
#include "lang/Answer.h"
#include "lang/Sentence.h"

#include <algorithm>

using namespace tlm;

/// Two bytes a token; some are no words.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<Token> tokens;
  for (size_t i = 0; i + 1 < size; i += 2)
    tokens.push_back(Token(data[i] | data[i + 1] << 8) - 1);
  TokenReader reader(tokens);
  Result<Prompt> found = readPrompt(reader);
  if (!found)
    return 0;
  std::vector<Token> again =
      prompt(found->hardware, found->task, found->quality);
  TLM_CHECK(std::ranges::equal(reader.since(0), again)) << wordsText(again);
  static const Target target = *targetFor("znver5");
  Space space(found->task, target);
  std::vector<Token> rest(tokens.begin() + std::ptrdiff_t(reader.position()),
                          tokens.end());
  if (Result<Schedule> schedule = parseAnswer(space, rest)) {
    TLM_CHECK(space.check(*schedule));
    TLM_CHECK(*answer(space, *schedule) == rest);
  }
  return 0;
}
