//===- Answer.cpp ---------------------------------------------------------===//

#include "lang/Answer.h"

#include "lang/AnswerCursor.h"
#include "lang/ChoiceWords.h"

#include <algorithm>

namespace tlm {

static std::string pointText(const DecisionPoint &point) {
  std::string text(nameOf(point.decision));
  return point.subject.empty() ? text : text + ' ' + point.subject;
}

Result<std::vector<Token>> answer(const Space &space,
                                  const Schedule &schedule) {
  TLM_TRY_STATUS(space.check(schedule));
  std::vector<Token> tokens;
  std::string nameless;
  space.write([&](const DecisionPoint &point) {
    int64_t value = schedule.get(point.decision, point.subject, 0);
    auto chosen = std::find(point.choices.begin(), point.choices.end(), value);
    tokens.push_back(
        choiceTokens(point)[size_t(chosen - point.choices.begin())]);
    if (tokens.back() == kNoToken && nameless.empty())
      nameless = pointText(point) + ": " + valueText(point.decision, value) +
                 " has no word among " + std::to_string(point.choices.size()) +
                 " choices";
    return value;
  });
  if (!nameless.empty())
    return makeError(nameless);
  tokens.push_back(kEnd);
  return tokens;
}

Result<Schedule> parseAnswer(const Space &space,
                             std::span<const Token> tokens) {
  AnswerCursor cursor(space);
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string where = "answer, token " + std::to_string(i) + " '" +
                        wordsText({tokens[i]}) + "': ";
    if (cursor.done())
      return makeError(where + "follows [EOS]");
    if (!cursor.allows(tokens[i])) {
      std::vector<Token> legal(cursor.allowed().begin(),
                               cursor.allowed().end());
      return makeError(where + "is not legal " +
                       (cursor.point() ? "for " + pointText(*cursor.point())
                                       : "when all is decided") +
                       "; legal: " + wordsText(legal));
    }
    cursor.take(tokens[i]);
  }
  if (cursor.done())
    return cursor.schedule();
  return makeError("answer of " + std::to_string(tokens.size()) +
                   " tokens ends before " +
                   (cursor.point() ? pointText(*cursor.point()) : "[EOS]"));
}

} // namespace tlm
