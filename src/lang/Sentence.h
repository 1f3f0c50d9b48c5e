//===- Sentence.h - what the model reads and writes -------------*- C++ -*-===//
//
//   [HW] machine [TASK] task [Q] quality [ANS] choice ... choice [EOS]
//   '------------ prefix ---''-- suffix -----''------ answer --------'
//
// The prefix of a task is the same whatever quality is asked for: its keys and
// values are computed once. See Hardware.h, TaskSentence.h, Quality.h,
// Answer.h.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_SENTENCE_H
#define TLM_LANG_SENTENCE_H

#include "lang/Hardware.h"
#include "lang/Quality.h"
#include "lang/TaskSentence.h"

namespace tlm {

struct Prompt {
  Hardware hardware;
  Task task;
  Quality quality;
};

std::vector<Token> promptPrefix(const Hardware &hardware, const Task &task);
std::vector<Token> promptSuffix(Quality quality);
/// Both.
std::vector<Token> prompt(const Hardware &hardware, const Task &task,
                          Quality quality);

/// Reads a prompt up to and with [ANS]. Errors name the place, counted from 0,
/// the word there and the cause; what prompt() does not write is refused.
Result<Prompt> readPrompt(TokenReader &reader);

/// Any tokens as words, a line for each part, operand and operation.
std::string sentenceText(const std::vector<Token> &tokens);

/// A prompt and nothing behind it.
Result<Prompt> parsePrompt(std::span<const Token> tokens);

} // namespace tlm

#endif // TLM_LANG_SENTENCE_H
