//===- Forward.h - several sentences through the layers ---------*- C++ -*-===//
//
// One pass reads some more tokens of several sentences at once: whole prompts
// (prefill), one token each (decoding), or answers to be scored. Each sentence
// gets the bits that it would get alone (Kernels.h).
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_FORWARD_H
#define TLM_MODEL_FORWARD_H

#include "model/Context.h"
#include "model/LanguageModel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tlm {

/// Tokens that one sentence goes on with. Ids are below config().vocabulary and
/// the sentence has at most config().positions tokens with them.
struct Extension {
  Context *context = nullptr;
  std::span<const int32_t> tokens;
  /// Of how many of the tokens, counted from the last one, the state is asked.
  int64_t states = 1;
};

/// Scratch of one thread, to be used again.
class Forward {
public:
  explicit Forward(const LanguageModel &model) : model(model) {}

  void run(std::span<const Extension> extensions);

  /// After run: the state (C) behind the final layer norm, of the i-th token
  /// asked for, in the order of the extensions.
  const float *state(int64_t i) const {
    return states.data() + i * model.config().width;
  }

private:
  void embed(std::span<const Extension> extensions);
  void runLayer(int64_t layer, std::span<const Extension> extensions);
  void attend(int64_t layer, std::span<const Extension> extensions,
              bool onlyStates);

  const LanguageModel &model;
  int64_t rows = 0;
  std::vector<float> stream;     ///< (rows, C): the residual stream
  std::vector<float> normalised; ///< (rows, C); also what attention gives
  std::vector<float> mixed;      ///< (rows, 3C): query, key, value
  std::vector<float> inner;      ///< (rows, 4C)
  std::vector<float> packed;     ///< scratch of matmul
  std::vector<float> scores;     ///< scratch of attention
  std::vector<float> states;
  std::vector<AttentionSpan> spans;
};

/// The logit of `token` after a state.
inline float logit(const LanguageModel &model, const float *state,
                   int32_t token) {
  return model.kernels().dot(state, model.tokenRow(token),
                             model.config().width);
}

} // namespace tlm

#endif // TLM_MODEL_FORWARD_H
