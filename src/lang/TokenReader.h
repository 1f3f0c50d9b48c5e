//===- TokenReader.h - a cursor over a sentence -----------------*- C++ -*-===//

#ifndef TLM_LANG_TOKENREADER_H
#define TLM_LANG_TOKENREADER_H

#include "base/Result.h"
#include "lang/Vocabulary.h"

#include <span>

namespace tlm {

/// Reads words one after the other; every take... consumes on success only.
class TokenReader {
public:
  explicit TokenReader(std::span<const Token> tokens) : tokens(tokens) {}

  size_t position() const { return next; }
  bool atEnd() const { return next == tokens.size(); }
  /// The next token, or one that no word has.
  Token peek() const { return atEnd() ? Token(-1) : tokens[next]; }
  /// The next word, or empty where there is none.
  std::string_view word() const {
    const Vocabulary &vocabulary = Vocabulary::get();
    return vocabulary.contains(peek()) ? vocabulary.word(peek())
                                       : std::string_view();
  }
  void skip() { ++next; }
  bool take(Token token) {
    bool found = !atEnd() && tokens[next] == token;
    next += found;
    return found;
  }
  bool take(std::string_view wanted) {
    bool found = word() == wanted;
    next += found;
    return found;
  }
  /// What was read since `from`.
  std::span<const Token> since(size_t from) const {
    return tokens.subspan(from, next - from);
  }

  /// "token 12 'conv': expected ...", at the next word.
  Error error(const std::string &what) const { return errorAt(next, what); }
  Error errorAt(size_t position, const std::string &what) const {
    std::string found = position < tokens.size()
                            ? "'" + wordsText({tokens[position]}) + "'"
                            : "the end";
    return makeError("token " + std::to_string(position) + ", " + found + ": " +
                     what);
  }

private:
  std::span<const Token> tokens;
  size_t next = 0;
};

} // namespace tlm

#endif // TLM_LANG_TOKENREADER_H
