#include "train/AnswerRanks.h"

#include "lang/Quality.h"
#include "lang/Sentence.h"
#include "lang/Vocabulary.h"
#include "train/BatchOrder.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace tlm;

namespace {

struct KnownAnswer {
  std::vector<Token> tokens; ///< [EOS] included
  int bucket = 0;
};

/// An answer whose bucket stands before it or behind it.
std::optional<KnownAnswer> knownAnswer(const Branch &branch) {
  TokenReader reader(branch.tokens);
  Quality before, after;
  if (!reader.take(kQuality) || !takeQuality(reader, before) ||
      !reader.take(kAnswer))
    return std::nullopt;
  size_t begin = reader.position();
  while (!reader.atEnd() && reader.peek() != kEnd)
    reader.skip();
  if (!reader.take(kEnd))
    return std::nullopt;
  size_t end = reader.position();
  if (!reader.atEnd())
    (void)takeQuality(reader, after);
  Quality quality = before ? before : after;
  if (!quality)
    return std::nullopt;
  return KnownAnswer{{branch.tokens.begin() + std::ptrdiff_t(begin),
                      branch.tokens.begin() + std::ptrdiff_t(end)},
                     *quality};
}

/// Logits of one group, row by row.
class Scores {
public:
  Scores(const TorchModel &model, const SentenceGroup &group)
      : batch(packGroups({group})), values(model.logits(batch)),
        words(values.size() / batch.tokens.size()) {}

  /// Of each word behind token `i` of a branch.
  std::vector<double> logProbabilities(size_t branch, size_t i) const {
    const PackedGroup &group = batch.groups[0];
    size_t row = size_t(group.prompt) + branch * size_t(group.length) + i;
    std::vector<double> scores(values.begin() + std::ptrdiff_t(row * words),
                               values.begin() +
                                   std::ptrdiff_t((row + 1) * words));
    double largest = *std::ranges::max_element(scores), sum = 0;
    for (double score : scores)
      sum += std::exp(score - largest);
    for (double &score : scores)
      score -= largest + std::log(sum);
    return scores;
  }

private:
  PackedBatch batch;
  std::vector<double> values;
  size_t words;
};

SentenceGroup asked(const SentenceGroup &group,
                    const std::vector<KnownAnswer> &answers, Quality quality) {
  SentenceGroup all{group.prompt, {}};
  for (const KnownAnswer &answer : answers) {
    Branch branch{promptSuffix(quality), 1};
    branch.tokens.insert(branch.tokens.end(), answer.tokens.begin(),
                         answer.tokens.end());
    all.branches.push_back(std::move(branch));
  }
  return all;
}

/// Minus the logarithm of each answer's probability where the best is asked
/// for: less is better, as with times.
std::vector<double> surprises(const TorchModel &model,
                              const SentenceGroup &group,
                              const std::vector<KnownAnswer> &answers) {
  SentenceGroup all = asked(group, answers, 0);
  Scores scores(model, all);
  std::vector<double> surprises;
  for (size_t b = 0; b < all.branches.size(); ++b) {
    const std::vector<Token> &tokens = all.branches[b].tokens;
    double surprise = 0;
    for (size_t i = tokens.size() - answers[b].tokens.size(); i < tokens.size();
         ++i)
      surprise -= scores.logProbabilities(b, i - 1)[size_t(tokens[i])];
    surprises.push_back(surprise);
  }
  return surprises;
}

/// One over the share that is expected of each answer.
std::vector<double> expectedTimes(const TorchModel &model,
                                  const SentenceGroup &group,
                                  const std::vector<KnownAnswer> &answers) {
  SentenceGroup all = asked(group, answers, std::nullopt);
  Scores scores(model, all);
  std::vector<double> times;
  for (size_t b = 0; b < all.branches.size(); ++b) {
    std::vector<double> next =
        scores.logProbabilities(b, all.branches[b].tokens.size() - 1);
    double share = 0, sum = 0;
    for (int bucket = 0; bucket < kQualityBuckets; ++bucket) {
      double chance = std::exp(next[size_t(qualityToken(bucket))]);
      share += chance * qualityShare(bucket);
      sum += chance;
    }
    times.push_back(sum / share);
  }
  return times;
}

} // namespace

AnswerRanks tlm::rankAnswers(const TorchModel &model,
                             const SentenceFile &file) {
  AnswerRanks ranks;
  for (int64_t i = 0; i < file.size(); ++i) {
    SentenceGroup group = file.group(i);
    std::vector<KnownAnswer> answers;
    std::vector<double> times;
    for (const Branch &branch : group.branches)
      if (std::optional<KnownAnswer> answer = knownAnswer(branch)) {
        times.push_back(1 / qualityShare(answer->bucket));
        answers.push_back(std::move(*answer));
      }
    if (times.empty() || std::ranges::min(times) == std::ranges::max(times))
      continue;
    ranks.byProbability += rankSums(times, surprises(model, group, answers));
    ranks.byJudgement += rankSums(times, expectedTimes(model, group, answers));
  }
  return ranks;
}
