//===- Sentence.cpp -------------------------------------------------------===//

#include "lang/Sentence.h"

namespace tlm {

std::vector<Token> promptPrefix(const Hardware &hardware, const Task &task) {
  std::vector<Token> tokens;
  appendHardware(tokens, hardware);
  appendTask(tokens, task);
  return tokens;
}

std::vector<Token> promptSuffix(Quality quality) {
  return {kQuality, qualityToken(quality), kAnswer};
}

std::vector<Token> prompt(const Hardware &hardware, const Task &task,
                          Quality quality) {
  std::vector<Token> tokens = promptPrefix(hardware, task);
  for (Token token : promptSuffix(quality))
    tokens.push_back(token);
  return tokens;
}

Result<Prompt> readPrompt(TokenReader &reader) {
  TLM_TRY(Hardware hardware, readHardware(reader));
  TLM_TRY(Task task, readTask(reader));
  if (!reader.take(kQuality))
    return reader.error("expected [Q]");
  Quality quality;
  if (!takeQuality(reader, quality))
    return reader.error("expected a quality or [?]");
  if (!reader.take(kAnswer))
    return reader.error("expected [ANS]");
  return Prompt{hardware, std::move(task), quality};
}

Result<Prompt> parsePrompt(std::span<const Token> tokens) {
  TokenReader reader(tokens);
  TLM_TRY(Prompt prompt, readPrompt(reader));
  if (!reader.atEnd())
    return reader.error("nothing was expected behind the prompt");
  return prompt;
}

/// Whether the next word begins a line of sentenceText.
static bool beginsPart(TokenReader &reader) {
  Token token = reader.peek();
  if (token == kHardware || token == kTask || token == kQuality ||
      token == kAnswer || reader.word() == "window")
    return true;
  TokenReader ahead = reader;
  Role role;
  Op op;
  Scalar scalar;
  return takeTaskWord(ahead, role) || takeTaskWord(ahead, op) ||
         takeTaskWord(ahead, scalar);
}

std::string sentenceText(const std::vector<Token> &tokens) {
  std::string text;
  for (TokenReader reader(tokens); !reader.atEnd(); reader.skip()) {
    if (!text.empty())
      text += beginsPart(reader) ? '\n' : ' ';
    text += wordsText({reader.peek()});
  }
  return text + '\n';
}

} // namespace tlm
