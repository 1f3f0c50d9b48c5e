//===- AnswerCursor.cpp ---------------------------------------------------===//

#include "lang/AnswerCursor.h"

#include "lang/ChoiceWords.h"

#include <algorithm>

namespace tlm {

AnswerCursor::AnswerCursor(const Space &space) : space(&space) { advance(); }

void AnswerCursor::advance() {
  open = space->next(taken);
  tokens.clear();
  values.clear();
  if (!open) {
    tokens = {kEnd};
    return;
  }
  std::vector<Token> all = choiceTokens(*open);
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != kNoToken) {
      tokens.push_back(all[i]);
      values.push_back(open->choices[i]);
    }
}

bool AnswerCursor::allows(Token token) const {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

int64_t AnswerCursor::valueOf(Token token) const {
  auto found = std::find(tokens.begin(), tokens.end(), token);
  TLM_CHECK(open && found != tokens.end()) << token;
  return values[size_t(found - tokens.begin())];
}

void AnswerCursor::take(int32_t token) {
  TLM_CHECK(allows(token)) << wordsText({token});
  if (!open) {
    ended = true;
    tokens.clear();
    return;
  }
  taken.choices.push_back({open->decision, open->subject, valueOf(token)});
  advance();
}

Schedule AnswerCursor::schedule() const {
  TLM_CHECK(!open) << nameOf(open->decision) << " is not answered";
  return space->write([this](const DecisionPoint &point) {
    return taken.get(point.decision, point.subject, point.choices.front());
  });
}

} // namespace tlm
