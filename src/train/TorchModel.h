//===- TorchModel.h - GPT-2 with gradients, through libtorch ----*- C++ -*-===//
//
// The only door to libtorch: its headers want C++17, so this one has plain
// types only. Tensors have the names and the layout of GptParameters.h.
//
// For a number of threads everything here gives the same bits on each run.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_TORCHMODEL_H
#define TLM_TRAIN_TORCHMODEL_H

#include "train/PackedBatch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tlm {

struct TorchShape {
  int64_t layers = 0, heads = 0, width = 0;
  double epsilon = 1e-5;
};

/// Low-rank changes of the linear layers (Hu et al. 2021): W + scale A B, where
/// A is (in, rank) and B is (rank, out). The weights themselves stay as they
/// are; what is learnt, saved and shared are the A and B.
struct TorchAdapter {
  int64_t rank = 0; ///< 0: none, all weights are learnt
  double scale = 1;
};

/// Values outside, by name.
struct TensorValues {
  std::string name;
  std::vector<int64_t> dims;
  std::vector<float> values;
};

/// Sums over the rows with something to learn.
struct LossSums {
  double loss = 0;     ///< negative logarithms of the targets' probabilities
  int64_t correct = 0; ///< targets that were the likeliest token
  int64_t targets = 0;
};

/// One step of AdamW (Loshchilov and Hutter 2019): matrices decay, gains,
/// biases and embeddings of positions do not.
struct AdamStep {
  int64_t step = 1; ///< from 1
  double rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double decay = 0.1;
  double clip = 1;     ///< largest norm of the gradients
  int64_t targets = 1; ///< what the gradients' sums are divided by
};

class TorchModel {
public:
  /// `values` has the weights and, with an adapter, its tensors too.
  /// `inDouble` computes with double, for tests.
  TorchModel(const TorchShape &shape, const std::vector<TensorValues> &values,
             const TorchAdapter &adapter = {}, bool inDouble = false);
  ~TorchModel();

  /// Joins `world` processes that hold the same weights and find each other
  /// through a file. Not to be called for a world of 1. Empty, or the error.
  std::string join(const std::string &storeFile, int rank, int world);

  /// Adds the gradients of the losses' sum.
  LossSums learn(const PackedBatch &batch);
  LossSums evaluate(const PackedBatch &batch) const;
  /// Adds gradients and sums of all processes: the same for each of them.
  void share(LossSums &sums);
  /// Changes the weights and clears the gradients; returns the norm that the
  /// gradients had before clipping.
  double update(const AdamStep &step);

  enum class Kind { Weight, Gradient, FirstMoment, SecondMoment };
  /// Of everything that is learnt.
  std::vector<TensorValues> values(Kind kind) const;
  /// Names and dims as in values(kind).
  void setValues(Kind kind, const std::vector<TensorValues> &values);
  /// Logits after every row, (rows, V).
  std::vector<double> logits(const PackedBatch &batch) const;
  /// One value of a tensor, for finite differences.
  double weight(const std::string &name, int64_t i) const;
  void setWeight(const std::string &name, int64_t i, double value);
  double gradient(const std::string &name, int64_t i) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// Before anything else: threads of one operation, deterministic algorithms.
void configureTorch(int threads);

/// Empty when matrix products are right and come from a library made for speed;
/// else what is wrong: the reference BLAS takes ten times as long.
std::string blasComplaint();

} // namespace tlm

#endif // TLM_TRAIN_TORCHMODEL_H
