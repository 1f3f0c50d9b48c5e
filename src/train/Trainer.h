//===- Trainer.h - from sentences to weights --------------------*- C++ -*-===//

#ifndef TLM_TRAIN_TRAINER_H
#define TLM_TRAIN_TRAINER_H

#include "train/AnswerRanks.h"
#include "train/SentenceFile.h"
#include "train/TorchModel.h"
#include "train/TrainOptions.h"

#include <functional>
#include <string>

namespace tlm {

struct TrainPaths {
  std::string data;       ///< SentenceFile.h
  std::string validation; ///< the same; may be empty
  /// Model folder to go on from; may be empty. Words that the data has and the
  /// folder's weights do not know yet get drawn rows.
  std::string start;
  /// Model folder, or the folder of the adapter; its checkpoint lies in it.
  std::string out;
};

struct TrainPace {
  int64_t checkpointEvery = 500; ///< steps; 0: at the end only
  int64_t validateEvery = 500;   ///< steps; 0: at the end only
  int64_t reportEvery = 50;      ///< steps
  /// Stops after this step, as if interrupted behind its checkpoint; 0: never.
  int64_t stopAfter = 0;
  bool resume = false; ///< from the checkpoint, where there is one
};

/// Of the processes of one run, which find each other through `storeFile`.
struct TrainRank {
  int rank = 0;
  std::string storeFile; ///< with more than one process
};

struct TrainResult {
  int64_t steps = 0;
  double loss = 0;              ///< per target, of the last step
  double validationLoss = 0;    ///< 0 without validation
  double validationCorrect = 0; ///< share of targets that were the likeliest
  double tokensPerSecond = 0;
};

/// Trains and writes the model folder, or with options.rank the adapter of
/// `start`, which stays as it is. The group i of a batch is learnt by
/// process i modulo the number of processes; gradients are added over all of
/// them, so each has the same weights.
Result<TrainResult> train(const TrainOptions &options, const TrainPaths &paths,
                          const TrainPace &pace, const TrainRank &rank,
                          const std::function<void(std::string)> &report);

struct Evaluation {
  LossSums sums;
  AnswerRanks ranks; ///< where the sentences are of this program's language
};

/// What a model, with an adapter where `adapter` is not empty, says of a file
/// of sentences.
Result<Evaluation> evaluate(const std::string &folder,
                            const std::string &adapter,
                            const std::string &data);

/// The shape of the model in `folder` as options.
Status takeShape(const std::string &folder, TrainOptions &options);

} // namespace tlm

#endif // TLM_TRAIN_TRAINER_H
