//===- ChoiceWords.cpp ----------------------------------------------------===//

#include "lang/ChoiceWords.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tlm {
namespace {

constexpr int64_t kMostExact = 64, kMostQuotient = 16;
constexpr int64_t kFirstOctave = 6, kLastOctave = 20, kOctaveRanks = 4;
constexpr size_t kLeftOver = 128;

constexpr Decision kDecisions[] = {
#define TLM_DECISION(id, name, text) Decision::name,
#include "space/Decisions.def"
};

/// Subjects with words of their own; the others of a decision share its words.
struct Subject {
  Decision decision;
  std::string_view name;
};
constexpr Subject kSubjects[] = {
    {Decision::RegisterRow, "keys"}, {Decision::RegisterTile, "h"},
    {Decision::ParallelTile, "f"},   {Decision::ParallelTile, "c"},
    {Decision::ParallelTile, "x"},
};

/// Decisions whose numbers stay small whatever the task: no words for large
/// ones.
constexpr Decision kSmall[] = {Decision::RegisterRow, Decision::RegisterTile,
                               Decision::TileRows, Decision::JoinedGroups,
                               Decision::Accumulators};

bool hasLargeNumbers(Decision decision, std::string_view subject) {
  // The 36 matrices of Winograd.
  if (decision == Decision::ParallelTile && subject == "x")
    return false;
  return std::find(std::begin(kSmall), std::end(kSmall), decision) ==
         std::end(kSmall);
}

bool hasNamedValues(Decision decision) { return valueText(decision, 0) != "0"; }

int64_t octaveOf(int64_t value) {
  return int64_t(std::bit_width(uint64_t(value))) - 1;
}

std::string familyName(Decision decision, std::string_view subject) {
  std::string name(nameOf(decision));
  for (const Subject &own : kSubjects)
    if (own.decision == decision && own.name == subject)
      name.append(".").append(subject);
  return name + '=';
}

/// The words of a decision, or of one subject of it; kNoToken where it has
/// none of a kind.
class Family {
public:
  Family(Decision decision, std::string_view subject) {
    std::string name = familyName(decision, subject);
    if (hasNamedValues(decision)) {
      for (int64_t value = 0;
           valueText(decision, value) != std::to_string(value); ++value)
        exact.push_back(add(name + valueText(decision, value)));
      return;
    }
    for (int64_t value = 0; value <= kMostExact; ++value)
      exact.push_back(add(name + std::to_string(value)));
    if (!hasLargeNumbers(decision, subject))
      return;
    for (int64_t divisor = 1; divisor <= kMostQuotient; ++divisor)
      quotients.push_back(add(name + "top/" + std::to_string(divisor)));
    for (int64_t octave = kFirstOctave; octave <= kLastOctave; ++octave)
      for (int64_t rank = 0; rank < kOctaveRanks; ++rank)
        octaves.push_back(add(name + "~2^" + std::to_string(octave) +
                              (rank ? "+" + std::to_string(rank) : "")));
  }

  /// Indices into words().
  std::vector<size_t> exact, quotients, octaves;
  const std::vector<std::string> &words() const { return names; }

private:
  size_t add(std::string name) {
    names.push_back(std::move(name));
    return names.size() - 1;
  }
  std::vector<std::string> names;
};

std::string leftOverWord(size_t rank) {
  return "choice#" + std::to_string(rank);
}

/// A Family with the tokens of its words.
struct FamilyTokens {
  Family family;
  std::vector<Token> tokens;

  Token exact(int64_t value) const { return at(family.exact, value); }
  Token quotient(int64_t divisor) const {
    return at(family.quotients, divisor - 1);
  }
  Token octave(int64_t octave, int64_t rank) const {
    if (rank >= kOctaveRanks)
      return kNoToken;
    return at(family.octaves, (octave - kFirstOctave) * kOctaveRanks + rank);
  }

private:
  Token at(const std::vector<size_t> &indices, int64_t i) const {
    return i >= 0 && size_t(i) < indices.size() ? tokens[indices[size_t(i)]]
                                                : kNoToken;
  }
};

FamilyTokens tokensOf(Decision decision, std::string_view subject) {
  FamilyTokens found{Family(decision, subject), {}};
  found.tokens.reserve(found.family.words().size());
  for (const std::string &word : found.family.words())
    found.tokens.push_back(Vocabulary::get().at(word));
  return found;
}

using FamilyKey = std::pair<Decision, std::string>;

std::vector<FamilyKey> familyKeys() {
  std::vector<FamilyKey> keys;
  for (Decision decision : kDecisions)
    keys.emplace_back(decision, "");
  for (const Subject &own : kSubjects)
    keys.emplace_back(own.decision, own.name);
  return keys;
}

const FamilyTokens &familyOf(const DecisionPoint &point) {
  static const std::map<FamilyKey, FamilyTokens> families = [] {
    std::map<FamilyKey, FamilyTokens> all;
    for (const FamilyKey &key : familyKeys())
      all.emplace(key, tokensOf(key.first, key.second));
    return all;
  }();
  auto own = families.find({point.decision, point.subject});
  return own != families.end() ? own->second
                               : families.at({point.decision, ""});
}

const std::vector<Token> &leftOverTokens() {
  static const std::vector<Token> tokens = [] {
    std::vector<Token> all;
    all.reserve(kLeftOver);
    for (size_t rank = 0; rank < kLeftOver; ++rank)
      all.push_back(Vocabulary::get().at(leftOverWord(rank)));
    return all;
  }();
  return tokens;
}

} // namespace

std::vector<Token> choiceTokens(const DecisionPoint &point) {
  const FamilyTokens &family = familyOf(point);
  const std::vector<int64_t> &choices = point.choices;
  std::vector<Token> tokens(choices.size(), kNoToken);
  int64_t top = *std::max_element(choices.begin(), choices.end());
  std::vector<size_t> rest;
  for (size_t i = 0; i < choices.size(); ++i) {
    int64_t value = choices[i];
    tokens[i] = family.exact(value);
    if (tokens[i] == kNoToken && value > 0 && top % value == 0)
      tokens[i] = family.quotient(top / value);
    if (tokens[i] == kNoToken)
      rest.push_back(i);
  }
  std::sort(rest.begin(), rest.end(),
            [&](size_t a, size_t b) { return choices[a] < choices[b]; });
  int64_t octave = -1, rank = 0;
  for (size_t i : rest) {
    int64_t here = choices[i] > 0 ? octaveOf(choices[i]) : -1;
    rank = here == octave ? rank + 1 : 0;
    octave = here;
    tokens[i] = here < 0 ? kNoToken : family.octave(here, rank);
  }
  std::erase_if(rest, [&](size_t i) { return tokens[i] != kNoToken; });
  std::reverse(rest.begin(), rest.end());
  rest.resize(std::min(rest.size(), kLeftOver));
  for (size_t i = 0; i < rest.size(); ++i)
    tokens[rest[i]] = leftOverTokens()[i];
  return tokens;
}

std::vector<std::string> neededChoiceWords() {
  std::vector<std::string> words;
  words.reserve(kLeftOver);
  for (size_t rank = 0; rank < kLeftOver; ++rank)
    words.push_back(leftOverWord(rank));
  for (const FamilyKey &key : familyKeys()) {
    Family family(key.first, key.second);
    words.insert(words.end(), family.words().begin(), family.words().end());
  }
  return words;
}

} // namespace tlm
