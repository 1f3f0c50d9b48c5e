//===- AnswerCursor.h - what may come next in an answer ---------*- C++ -*-===//
//
// The mask of the decoder. An answer is written token by token; at every place
// the legal ones are the words of the choices that the Space offers after those
// taken, so that whatever is taken, the whole is a legal schedule:
//
//   AnswerCursor cursor(space);
//   while (!cursor.done())
//     cursor.take(pick(cursor.allowed()));
//   Schedule schedule = cursor.schedule();
//
// Decisions with a single legal choice are passed over silently. When all are
// answered, [EOS] alone is allowed; the cursor is done when it was taken.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_ANSWERCURSOR_H
#define TLM_LANG_ANSWERCURSOR_H

#include "lang/Vocabulary.h"
#include "space/Space.h"

#include <optional>
#include <span>
#include <vector>

namespace tlm {

struct AnswerCursor {
  /// `space` outlives the cursor and its copies.
  explicit AnswerCursor(const Space &space);

  bool done() const { return ended; }
  /// The tokens of which one may be taken, all different: at least one before
  /// the end, none after it. Valid until the next take.
  std::span<const int32_t> allowed() const { return tokens; }
  bool allows(Token token) const;
  /// `token` is one of allowed().
  void take(int32_t token);

  /// The decision that is asked; nothing when all are answered.
  const std::optional<DecisionPoint> &point() const { return open; }
  /// The value that an allowed token stands for.
  int64_t valueOf(Token token) const;
  /// The complete schedule; all decisions must be answered.
  Schedule schedule() const;

private:
  void advance();

  const Space *space;
  Schedule taken; ///< the choices that were written
  std::optional<DecisionPoint> open;
  std::vector<Token> tokens;   ///< allowed()
  std::vector<int64_t> values; ///< of tokens
  bool ended = false;
};

} // namespace tlm

#endif // TLM_LANG_ANSWERCURSOR_H
