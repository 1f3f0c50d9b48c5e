//===- AnswerRanks.h - does the model like fast answers best? ---*- C++ -*-===//
//
// Of the answers behind one prompt whose quality is known, whichever way their
// sentences say it, and two ways for the model to score each:
//
//   [Q] q0.99 [ANS] choices [EOS]      by probability: log P(choices, [EOS])
//   [Q] [?] [ANS] choices [EOS] ...    by judgement: the mean of the buckets
//                                      that it expects next
//
// The order by score is compared with the order by quality. Nothing is masked:
// a score is what the weights say.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_ANSWERRANKS_H
#define TLM_TRAIN_ANSWERRANKS_H

#include "train/EstimateRanks.h"
#include "train/SentenceFile.h"
#include "train/TorchModel.h"

namespace tlm {

/// A "task" of these sums is a prompt with answers of at least two buckets; a
/// "time" is one over the middle of the bucket.
struct AnswerRanks {
  RankSums byProbability, byJudgement;
};

/// Sentences and model are of this program's language.
AnswerRanks rankAnswers(const TorchModel &model, const SentenceFile &file);

} // namespace tlm

#endif // TLM_TRAIN_ANSWERRANKS_H
