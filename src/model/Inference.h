//===- Inference.h - reading, writing and judging sentences -----*- C++ -*-===//
//
// What a compiler asks of a language model:
//
//   Inference inference(model, threads);
//   auto contexts = inference.read(prompts);       // a prompt per task
//   auto answers = inference.decode(               // k answers per task
//       {{contexts[0], {q0, ans}, maskOf(cursor)}, ...}, options);
//   auto chances = inference.judge(                // [Q ?] ... [EOS] -> bucket
//       {{contexts[0], {qUnknown, ans, ..., eos}}, ...}, buckets);
//
// Sentences go to the threads in groups, and every group runs through all of
// its layers and steps alone; nothing is shared but weights and contexts. The
// results of a sentence are the same bits whatever the groups and the threads.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_INFERENCE_H
#define TLM_MODEL_INFERENCE_H

#include "model/AnswerMask.h"
#include "model/Context.h"
#include "model/LanguageModel.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tlm {

using Tokens = std::vector<int32_t>;
using ContextRef = std::shared_ptr<const Context>;

enum class DecodeMethod {
  Greedy, ///< the likeliest token each time; the first of equals
  Sample, ///< drawn from the distribution sharpened by the temperature
  Beam,   ///< the likeliest whole answers that a beam of `answers` finds
};

struct DecodeOptions {
  DecodeMethod method = DecodeMethod::Greedy;
  int64_t answers = 1;   ///< per request; Greedy has one
  float temperature = 1; ///< Sample: above 0
  uint64_t seed = 0;     ///< Sample
};

struct DecodeRequest {
  ContextRef context; ///< null for the beginning of a sentence
  /// What follows the context, at least one token: [Q k] [ANS].
  Tokens suffix;
  std::shared_ptr<const AnswerMask> mask;
  /// Sample: requests with the same stream and seed draw alike.
  uint64_t stream = 0;
};

struct Answer {
  Tokens tokens;
  /// Of each token, among those that were allowed, at temperature 1. Where one
  /// is allowed it is taken without asking the model, and has 1.
  std::vector<float> probabilities;
  double logProbability = 0;
};

/// The answers of one request, or why there are none (Inference::check).
using Answers = Result<std::vector<Answer>>;

struct JudgeRequest {
  ContextRef context;
  Tokens tokens; ///< at least one
};

class Inference {
public:
  /// `model` must outlive this.
  Inference(const LanguageModel &model, int threads)
      : model(model), threads(threads) {}

  /// One context per prompt; what all prompts begin with is read once.
  std::vector<Result<ContextRef>> read(std::span<const Tokens> prompts) const;

  /// One entry per request. Beams come best first, samples as they were drawn
  /// (the i-th is the same however many there are).
  std::vector<Answers> decode(std::span<const DecodeRequest> requests,
                              const DecodeOptions &options) const;

  /// For each request the probability of each of `asked` being the next token,
  /// given that it is one of them; empty where check refuses the sentence.
  std::vector<std::vector<float>> judge(std::span<const JudgeRequest> requests,
                                        std::span<const int32_t> asked) const;

  /// An error when the model cannot read `tokens` after the context: the
  /// sentence is too long for it, or it was trained before a word existed.
  Status check(const ContextRef &context,
               std::span<const int32_t> tokens) const;

private:
  /// Calls body(begin, end) for ranges of up to `most` items that cover
  /// [0, count), on all threads.
  void inGroups(int64_t count, int64_t most,
                const std::function<void(int64_t, int64_t)> &body) const;

  const LanguageModel &model;
  int threads;
};

} // namespace tlm

#endif // TLM_MODEL_INFERENCE_H
