//===- NumberWords.cpp ----------------------------------------------------===//

#include "lang/NumberWords.h"

#include "base/NumberText.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace tlm {
namespace {

constexpr uint64_t kMostPlain = 16, kBase = 64;
constexpr int kMagnitudes = 64;

struct Prime {
  uint64_t prime;
  int mostPower; ///< of one word
};
constexpr Prime kPrimes[] = {{2, 16}, {3, 6}, {5, 4}, {7, 3}};

enum class Part { None, Plain, Magnitude, Factor, Digit };

/// What a word says of a number.
struct Meaning {
  Part part = Part::None;
  uint64_t value = 0; ///< Magnitude: the exponent
};

std::string wordOf(Meaning meaning) {
  std::string digits = std::to_string(meaning.value);
  switch (meaning.part) {
  case Part::None:
    return {};
  case Part::Plain:
    return digits;
  case Part::Magnitude:
    return "~2^" + digits;
  case Part::Factor:
    return '*' + digits;
  case Part::Digit:
    return '.' + digits;
  }
  return {};
}

std::vector<Meaning> allMeanings() {
  std::vector<Meaning> all;
  for (uint64_t value = 0; value <= kMostPlain; ++value)
    all.push_back({Part::Plain, value});
  for (uint64_t exponent = 4; exponent < kMagnitudes; ++exponent)
    all.push_back({Part::Magnitude, exponent});
  for (auto [prime, mostPower] : kPrimes) {
    uint64_t power = 1;
    for (int i = 0; i < mostPower; ++i)
      all.push_back({Part::Factor, power *= prime});
  }
  for (uint64_t digit = 0; digit < kBase; ++digit)
    all.push_back({Part::Digit, digit});
  return all;
}

/// Both directions, looked up once.
class Numbers {
public:
  static const Numbers &get() {
    static const Numbers numbers;
    return numbers;
  }

  Meaning meaningOf(Token token) const {
    return token >= 0 && size_t(token) < meanings.size()
               ? meanings[size_t(token)]
               : Meaning{};
  }
  Token plain(uint64_t value) const { return plains[value]; }
  Token magnitude(int exponent) const { return magnitudes[size_t(exponent)]; }
  Token digit(uint64_t value) const { return digits[value]; }
  /// Of the power `power` of kPrimes[prime].
  Token factor(size_t prime, int power) const {
    return factors[prime][size_t(power) - 1];
  }
  Token minus, exponent, infinity, notANumber;

private:
  Numbers() {
    const Vocabulary &vocabulary = Vocabulary::get();
    minus = vocabulary.at("-");
    exponent = vocabulary.at("e");
    infinity = vocabulary.at("inf");
    notANumber = vocabulary.at("nan");
    meanings.resize(vocabulary.size());
    magnitudes.resize(kMagnitudes);
    for (Meaning meaning : allMeanings()) {
      Token token = vocabulary.at(wordOf(meaning));
      meanings[size_t(token)] = meaning;
      if (meaning.part == Part::Plain)
        plains.push_back(token);
      if (meaning.part == Part::Magnitude)
        magnitudes[meaning.value] = token;
      if (meaning.part == Part::Digit)
        digits.push_back(token);
      for (size_t i = 0; i < std::size(kPrimes); ++i)
        if (meaning.part == Part::Factor &&
            meaning.value % kPrimes[i].prime == 0)
          factors[i].push_back(token);
    }
  }

  std::vector<Meaning> meanings;
  std::vector<Token> plains, magnitudes, digits;
  std::vector<Token> factors[std::size(kPrimes)];
};

/// The largest number of a magnitude.
uint64_t lastOf(int exponent) {
  return (uint64_t(2) << exponent) - 1; // 2 << 63 is 0
}

int digitsOf(uint64_t most) {
  int count = 1;
  for (; most >= kBase; most /= kBase)
    ++count;
  return count;
}

void appendUnsigned(std::vector<Token> &tokens, uint64_t value) {
  const Numbers &words = Numbers::get();
  if (value <= kMostPlain) {
    tokens.push_back(words.plain(value));
    return;
  }
  int exponent = std::bit_width(value) - 1;
  tokens.push_back(words.magnitude(exponent));
  uint64_t rest = value;
  for (size_t i = 0; i < std::size(kPrimes); ++i) {
    int powers = 0;
    for (; rest % kPrimes[i].prime == 0; rest /= kPrimes[i].prime)
      ++powers;
    for (int most = kPrimes[i].mostPower; powers > 0; powers -= most)
      tokens.push_back(words.factor(i, std::min(powers, most)));
  }
  if (rest == 1)
    return;
  uint64_t divisor = 1;
  for (int i = digitsOf(lastOf(exponent) / (value / rest)); i > 1; --i)
    divisor *= kBase;
  for (; divisor > 0; divisor /= kBase)
    tokens.push_back(words.digit(rest / divisor % kBase));
}

Result<uint64_t> readUnsigned(TokenReader &reader) {
  const Numbers &words = Numbers::get();
  size_t begin = reader.position();
  Meaning first = words.meaningOf(reader.peek());
  if (first.part != Part::Plain && first.part != Part::Magnitude)
    return reader.error("expected a number");
  reader.skip();
  if (first.part == Part::Plain)
    return first.value;
  int exponent = int(first.value);
  uint64_t least = uint64_t(1) << exponent, most = lastOf(exponent);
  uint64_t value = 1, room = most; // room: most / value
  while (words.meaningOf(reader.peek()).part == Part::Factor) {
    uint64_t factor = words.meaningOf(reader.peek()).value;
    if (factor > room)
      return reader.error("factors beyond the number's magnitude");
    value *= factor;
    room /= factor;
    reader.skip();
  }
  if (value < least) {
    uint64_t cofactor = 0;
    for (int i = digitsOf(room); i > 0; --i) {
      Meaning digit = words.meaningOf(reader.peek());
      if (digit.part != Part::Digit)
        return reader.error("expected a digit of a number");
      cofactor = cofactor * kBase + digit.value;
      reader.skip();
    }
    if (cofactor > room)
      return reader.errorAt(begin, "a number beyond its magnitude");
    value *= cofactor;
  }
  std::vector<Token> canonical;
  appendUnsigned(canonical, value);
  if (!std::ranges::equal(canonical, reader.since(begin)))
    return reader.errorAt(begin, "a number that is written '" +
                                     wordsText(canonical) + "'");
  return value;
}

/// Digits and power of ten of a finite number above 0.
template <typename T>
void appendDecimal(std::vector<Token> &tokens, T value) {
  char buffer[64];
  char *end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                            std::chars_format::scientific)
                  .ptr;
  *end = '\0';
  uint64_t mantissa = 0;
  int64_t exponent = 0;
  bool behindPoint = false;
  for (char *at = buffer; at != end; ++at) {
    if (*at == '.') {
      behindPoint = true;
    } else if (*at == 'e') {
      exponent += std::strtol(at + 1, nullptr, 10);
      break;
    } else {
      mantissa = 10 * mantissa + uint64_t(*at - '0');
      exponent -= behindPoint;
    }
  }
  appendUnsigned(tokens, mantissa);
  if (exponent) {
    tokens.push_back(Numbers::get().exponent);
    appendInteger(tokens, exponent);
  }
}

template <typename T>
void append(std::vector<Token> &tokens, T value) {
  const Numbers &words = Numbers::get();
  if (std::isnan(value)) {
    tokens.push_back(words.notANumber);
    return;
  }
  if (std::signbit(value))
    tokens.push_back(words.minus);
  value = std::abs(value);
  if (std::isinf(value))
    tokens.push_back(words.infinity);
  else
    appendDecimal(tokens, value);
}

template <typename T>
Result<T> read(TokenReader &reader) {
  const Numbers &words = Numbers::get();
  size_t begin = reader.position();
  if (reader.take(words.notANumber))
    return std::numeric_limits<T>::quiet_NaN();
  bool negative = reader.take(words.minus);
  T value = std::numeric_limits<T>::infinity();
  if (!reader.take(words.infinity)) {
    TLM_TRY(uint64_t mantissa, readUnsigned(reader));
    int64_t exponent = 0;
    if (reader.take(words.exponent)) {
      TLM_TRY(exponent, readInteger(reader));
    }
    std::string text =
        std::to_string(mantissa) + 'e' + std::to_string(exponent);
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc())
      return reader.errorAt(begin, "no number of this type");
  }
  if (negative)
    value = -value;
  std::vector<Token> canonical;
  append(canonical, value);
  if (!std::ranges::equal(canonical, reader.since(begin)))
    return reader.errorAt(begin, "a number that is written '" +
                                     wordsText(canonical) + "'");
  return value;
}

} // namespace

void appendInteger(std::vector<Token> &tokens, int64_t value) {
  if (value < 0)
    tokens.push_back(Numbers::get().minus);
  appendUnsigned(tokens, value < 0 ? -uint64_t(value) : uint64_t(value));
}

void appendReal(std::vector<Token> &tokens, float value) {
  append(tokens, value);
}

void appendReal(std::vector<Token> &tokens, double value) {
  append(tokens, value);
}

bool beginsInteger(const TokenReader &reader) {
  const Numbers &words = Numbers::get();
  Part part = words.meaningOf(reader.peek()).part;
  return part == Part::Plain || part == Part::Magnitude ||
         reader.peek() == words.minus;
}

Result<int64_t> readInteger(TokenReader &reader) {
  size_t begin = reader.position();
  bool negative = reader.take(Numbers::get().minus);
  TLM_TRY(uint64_t value, readUnsigned(reader));
  uint64_t most = uint64_t(std::numeric_limits<int64_t>::max()) + negative;
  if (value > most || (negative && value == 0))
    return reader.errorAt(begin, "no 64-bit integer");
  return int64_t(negative ? -value : value);
}

Result<float> readFloat(TokenReader &reader) { return read<float>(reader); }
Result<double> readDouble(TokenReader &reader) { return read<double>(reader); }

std::vector<std::string> neededNumberWords() {
  std::vector<std::string> words;
  for (Meaning meaning : allMeanings())
    words.push_back(wordOf(meaning));
  words.insert(words.end(), {"-", "e", "inf", "nan"});
  return words;
}

} // namespace tlm
