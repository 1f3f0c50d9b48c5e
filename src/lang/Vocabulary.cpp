//===- Vocabulary.cpp -----------------------------------------------------===//

#include "lang/Vocabulary.h"

#include "base/Check.h"
#include "base/Hash.h"
#include "lang/ChoiceWords.h"
#include "lang/Hardware.h"
#include "lang/NumberWords.h"
#include "lang/Quality.h"
#include "lang/TaskSentence.h"

namespace tlm {

static constexpr std::string_view kLines[] = {
#define TLM_WORDS(text) text,
#include "lang/Words.def"
};

Vocabulary::Vocabulary() {
  for (std::string_view line : kLines)
    while (!line.empty()) {
      std::string_view word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(line.size(), word.size() + 1));
      bool fresh = tokens.emplace(word, Token(words.size())).second;
      TLM_CHECK(fresh) << "Words.def has '" << word << "' twice";
      words.push_back(word);
    }
}

const Vocabulary &Vocabulary::get() {
  static const Vocabulary vocabulary;
  return vocabulary;
}

std::optional<Token> Vocabulary::find(std::string_view word) const {
  auto found = tokens.find(word);
  if (found == tokens.end())
    return std::nullopt;
  return found->second;
}

Token Vocabulary::at(std::string_view word) const {
  std::optional<Token> token = find(word);
  TLM_CHECK(token) << "Words.def lacks '" << word
                   << "'; Vocabulary.HasTheWordsThatAreNeeded says them all";
  return *token;
}

std::string Vocabulary::hash(size_t count) const {
  TLM_CHECK(count <= size()) << count;
  std::string text = "tlm-language " + std::to_string(kLanguageVersion);
  for (size_t i = 0; i < count; ++i)
    text.append("\n").append(words[i]);
  return hexText(hash64(text));
}

std::vector<std::string> neededWords() {
  std::vector<std::string> words = {"[PAD]", "[EOS]", "[HW]", "[TASK]",
                                    "[Q]",   "[ANS]", "[?]"};
  for (auto some : {neededQualityWords, neededNumberWords, neededHardwareWords,
                    neededTaskWords, neededChoiceWords})
    for (std::string &word : some())
      words.push_back(std::move(word));
  return words;
}

std::string wordsText(const std::vector<Token> &tokens) {
  const Vocabulary &vocabulary = Vocabulary::get();
  std::string text;
  for (Token token : tokens) {
    text += text.empty() ? "" : " ";
    if (vocabulary.contains(token))
      text += vocabulary.word(token);
    else
      text += '<' + std::to_string(token) + '>';
  }
  return text;
}

} // namespace tlm
