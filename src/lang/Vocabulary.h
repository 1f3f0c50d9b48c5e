//===- Vocabulary.h - the words of the tensor language ----------*- C++ -*-===//
//
// A closed list of words; a token is the number of a word. Words say what the
// tables of the compiler declare (operators, kinds, roles, decisions, ...),
// each concept by the name it has there, so that nothing is declared twice.
// Words.def only gives every word its number, for ever: stored weights mean
// these numbers. A word that a table has and Words.def lacks is appended there.
//
//   [HW]              marks the parts of a sentence         kHardware
//   q0.95             a bucket of quality                   Quality.h
//   ~2^5 *8 *7        the number 56                         NumberWords.h
//   conv input @0     kinds, roles, loops                   TaskSentence.h
//   %add              operations of a Compute task
//   parallel_tile=7   a choice                              ChoiceWords.h
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_VOCABULARY_H
#define TLM_LANG_VOCABULARY_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tlm {

/// Number of a word.
using Token = int32_t;

/// Version of the grammar and of the meaning of words; new words leave it.
inline constexpr int kLanguageVersion = 1;

/// Words that stand for no concept of the compiler, by their numbers.
inline constexpr Token kPad = 0;      ///< [PAD]: fills batches; in no sentence
inline constexpr Token kEnd = 1;      ///< [EOS]: ends an answer
inline constexpr Token kHardware = 2; ///< [HW]
inline constexpr Token kTask = 3;     ///< [TASK]
inline constexpr Token kQuality = 4;  ///< [Q]
inline constexpr Token kAnswer = 5;   ///< [ANS]
inline constexpr Token kUnknown = 6;  ///< [?]: a value that is not known

class Vocabulary {
public:
  static const Vocabulary &get();

  size_t size() const { return words.size(); }
  std::string_view word(Token token) const { return words[size_t(token)]; }
  bool contains(Token token) const {
    return token >= 0 && size_t(token) < words.size();
  }
  std::optional<Token> find(std::string_view word) const;
  /// The token of a word that exists.
  Token at(std::string_view word) const;

  /// Of the version and the first `count` words: equal hashes, equal meaning
  /// of these tokens. 16 hex digits.
  std::string hash(size_t count) const;
  std::string hash() const { return hash(size()); }

private:
  Vocabulary();

  std::vector<std::string_view> words;
  std::unordered_map<std::string_view, Token> tokens;
};

/// Every word that the language needs, from the tables that declare the
/// concepts; Words.def holds these and no others.
std::vector<std::string> neededWords();

/// "[TASK] conv par 1 ~2^6 *64": tokens as words; "<7000>" for no word.
std::string wordsText(const std::vector<Token> &tokens);

} // namespace tlm

#endif // TLM_LANG_VOCABULARY_H
