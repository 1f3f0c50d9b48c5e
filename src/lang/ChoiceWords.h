//===- ChoiceWords.h - one word for a choice --------------------*- C++ -*-===//
//
// A choice is one word that names its decision and its value, and means the
// same in every task. Enumerated decisions have a word a value
// (algorithm=direct). A number has the first of these that fits it:
//
//   parallel_tile=7       the value itself, up to 64
//   parallel_tile=top/4   a quarter of the largest legal choice, up to top/16
//   parallel_tile=~2^8    the first legal choice of 256 to 511 that has no
//   other
//                         word; ~2^8+1 is the second, up to ~2^20+3
//   choice#5              the sixth largest of what is left, of any decision
//
// Which one it is follows from the legal choices of the decision alone, and no
// two of them share a word: where there are at most 128, as in all tasks met so
// far, every choice has one. A decision about a second subject of the same
// kernel has words of its own where kSubjects says so (register_tile.h=2).
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_CHOICEWORDS_H
#define TLM_LANG_CHOICEWORDS_H

#include "lang/Vocabulary.h"
#include "space/Space.h"

namespace tlm {

/// Stands where a choice has no word; no token.
inline constexpr Token kNoToken = -1;

/// The word of every choice of `point`, in their order.
std::vector<Token> choiceTokens(const DecisionPoint &point);

/// All words of choices, for neededWords().
std::vector<std::string> neededChoiceWords();

} // namespace tlm

#endif // TLM_LANG_CHOICEWORDS_H
