//===- Distribution.h - over the tokens that are allowed --------*- C++ -*-===//

#ifndef TLM_MODEL_DISTRIBUTION_H
#define TLM_MODEL_DISTRIBUTION_H

#include "base/Random.h"
#include "model/LanguageModel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tlm {

/// The softmax of the logits of some tokens, of nothing else: the mask never
/// looks at the rest of the vocabulary. The same bits everywhere, so it has its
/// own logarithm too. A logit that is no number counts as the least, and so do
/// words that the weights do not know.
class Distribution {
public:
  Distribution(const LanguageModel &model, const float *state,
               std::span<const int32_t> allowed);

  /// Of the i-th allowed token.
  const std::vector<float> &probabilities() const { return shares; }
  /// Index of the likeliest; the first of equals.
  size_t best() const;
  /// Index drawn at a temperature above 0.
  size_t draw(float temperature, Random &random) const;
  double logProbability(size_t i) const;

private:
  const Kernels &kernels;
  std::vector<float> logits; ///< less the largest
  std::vector<float> shares;
  double sum = 0; ///< of exp(logits)
};

} // namespace tlm

#endif // TLM_MODEL_DISTRIBUTION_H
