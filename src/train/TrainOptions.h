//===- TrainOptions.h - what a training run is asked for --------*- C++ -*-===//

#ifndef TLM_TRAIN_TRAINOPTIONS_H
#define TLM_TRAIN_TRAINOPTIONS_H

#include "model/ModelConfig.h"

#include <cstdint>
#include <string>

namespace tlm {

/// Everything that the resulting weights depend on, beside the data: two runs
/// with the same options and files give the same bits. A checkpoint belongs to
/// its options.
struct TrainOptions {
  // The model; its vocabulary is the data's.
  int64_t layers = 4, heads = 4, width = 192, positions = 512;

  int64_t steps = 1000;
  int64_t batchTokens = 8192; ///< a step takes groups until it has so many
  double rate = 1e-3;         ///< highest learning rate ...
  double finalShare = 0.1;    ///< ... and what the cosine leaves of it
  int64_t warmup = 100;       ///< steps in which the rate rises from 0
  double decay = 0.1;         ///< of the weights
  double clip = 1;            ///< largest norm of the gradients
  uint64_t seed = 1;          ///< of the first weights and the data's order
  int64_t rank = 0;           ///< of an adapter; 0: the weights are learnt
  double scale = 1;           ///< of the adapter
  int world = 1;              ///< processes
  int threads = 1;            ///< of each process

  /// What cannot be, or empty.
  std::string verify() const;
  /// The learning rate of a step, counted from 0.
  double rateAt(int64_t step) const;
  ModelConfig config(const VocabularyId &id, int64_t vocabulary) const;
  /// One line, all fields.
  std::string text() const;
};

} // namespace tlm

#endif // TLM_TRAIN_TRAINOPTIONS_H
