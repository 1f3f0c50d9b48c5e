//===- Answer.h - a schedule as a sentence ----------------------*- C++ -*-===//
//
//   algorithm=direct register_row=4 parallel_tile=top/2 ... max_parallelism=2
//   [EOS]
//
// One word a decision of more than one legal choice, in the order in which the
// Space asks.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_ANSWER_H
#define TLM_LANG_ANSWER_H

#include "lang/Vocabulary.h"
#include "space/Space.h"

#include <span>

namespace tlm {

/// The sentence of a leaf of `space`, [EOS] included. An error when it is none,
/// or holds a choice that has no word.
Result<std::vector<Token>> answer(const Space &space, const Schedule &schedule);

/// The schedule that a whole answer says. The error names the place, counted
/// from 0, the word there and what was legal.
Result<Schedule> parseAnswer(const Space &space, std::span<const Token> tokens);

} // namespace tlm

#endif // TLM_LANG_ANSWER_H
