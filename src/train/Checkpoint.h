//===- Checkpoint.h - a training run, to go on with exactly -----*- C++ -*-===//
//
// One safetensors file, written atomically: weights, both moments of the
// optimizer, and in its metadata the step, the data cursor, the options, the
// hashes of the data and of all of this. A run that goes on from it ends with
// the bits of one that was not interrupted.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_CHECKPOINT_H
#define TLM_TRAIN_CHECKPOINT_H

#include "base/Result.h"
#include "train/BatchOrder.h"
#include "train/TorchModel.h"

#include <string>
#include <vector>

namespace tlm {

struct Checkpoint {
  int64_t step = 0; ///< steps that were made
  DataCursor cursor;
  /// What the run depends on; must be equal to go on: TrainOptions::text, the
  /// hash of the data, the hash of the model's configuration, what the first
  /// weights were.
  std::string options, data, config, start;
  std::vector<TensorValues> weights, first, second;
};

Status writeCheckpoint(const std::string &path, const Checkpoint &checkpoint);

/// Refuses damaged files and, by name, what is not as `expected` has it.
Result<Checkpoint> readCheckpoint(const std::string &path,
                                  const Checkpoint &expected);

} // namespace tlm

#endif // TLM_TRAIN_CHECKPOINT_H
