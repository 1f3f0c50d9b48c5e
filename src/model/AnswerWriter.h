//===- AnswerWriter.h - answers token by token ------------------*- C++ -*-===//
//
// One group of answers on one thread; Inference.h splits and collects.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_ANSWERWRITER_H
#define TLM_MODEL_ANSWERWRITER_H

#include "model/Inference.h"

#include <optional>

namespace tlm {

/// What all answers of a request go on from: everything before their first
/// choice is read.
struct AnswerStart {
  ContextRef context;
  std::vector<float> state; ///< (C), after the last token that was read
  Answer answer;            ///< tokens before the first choice
  std::unique_ptr<AnswerMask> mask;
};

/// One answer under way.
struct AnswerLane {
  const AnswerStart *start = nullptr;
  size_t request = 0;  ///< its index
  uint64_t stream = 0; ///< its stream
  uint64_t index = 0;  ///< among the answers of the request
  Answer answer;
  std::optional<Error> failure;
};

/// Fills `starts` for the requests whose result is no error yet; makes it one
/// where the sentence cannot be read.
void readSuffixes(const LanguageModel &model,
                  std::span<const DecodeRequest> requests,
                  std::span<Answers> results, std::span<AnswerStart> starts);

/// Greedy or Sample.
void writeAnswers(const LanguageModel &model, std::span<AnswerLane> lanes,
                  const DecodeOptions &options);

/// Beam search of `width`: keeps the likeliest `width` answers, finished or
/// not, until all are finished.
void writeBeams(const LanguageModel &model,
                std::span<const DecodeRequest> requests, int64_t width,
                std::span<Answers> results);

/// Takes tokens while there is no choice.
void takeForced(AnswerMask &mask, Answer &answer);

/// An error when the model cannot read `tokens` at `position`; see
/// Inference::check.
Status checkReadable(const LanguageModel &model, int64_t position,
                     std::span<const int32_t> tokens);

} // namespace tlm

#endif // TLM_MODEL_ANSWERWRITER_H
