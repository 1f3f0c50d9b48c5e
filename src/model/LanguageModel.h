//===- LanguageModel.h - weights ready to be computed with ------*- C++ -*-===//

#ifndef TLM_MODEL_LANGUAGEMODEL_H
#define TLM_MODEL_LANGUAGEMODEL_H

#include "lang/Vocabulary.h"
#include "model/GptParameters.h"
#include "model/Kernels.h"

#include <memory>
#include <string>
#include <vector>

namespace tlm {

/// An array on cache lines, not set to anything.
class AlignedArray {
public:
  AlignedArray() = default;
  explicit AlignedArray(size_t count);
  float *data() { return values.get(); }
  const float *data() const { return values.get(); }

private:
  struct Free {
    void operator()(float *values) const;
  };
  std::unique_ptr<float, Free> values;
};

/// A matrix in the layout of MatrixView.
class PackedMatrix {
public:
  PackedMatrix() = default;
  /// `values` is (depth, columns).
  PackedMatrix(const std::vector<float> &values, std::vector<float> bias);
  MatrixView view() const {
    return {panels.data(), bias.data(), depth, int64_t(bias.size())};
  }

private:
  AlignedArray panels;
  std::vector<float> bias;
  int64_t depth = 0;
};

/// Unchanging, so that any number of threads may use it.
class LanguageModel {
public:
  /// Reads a model folder (GptParameters.h). Refuses weights of another
  /// vocabulary than `vocabulary`; words that it got since are no hindrance.
  /// Without one, tokens are numbers and nothing else.
  /// `adapter` is a file of Adapter.h to apply, or empty.
  static Result<LanguageModel> load(const std::string &folder,
                                    const Vocabulary *vocabulary,
                                    const std::string &adapter = {});

  /// `kernels` is one of supportedKernels, or null for the fastest.
  LanguageModel(const ModelConfig &config, const GptParameters &parameters,
                const Kernels *kernels = nullptr);

  const ModelConfig &config() const { return shape; }
  const Kernels &kernels() const { return *functions; }

  struct Layer {
    std::vector<float> norm1Gain, norm1Bias, norm2Gain, norm2Bias;
    PackedMatrix attention, projection, expansion, contraction;
  };
  const std::vector<Layer> &layers() const { return blocks; }
  const float *tokenRow(int64_t token) const {
    return tokens.data() + token * shape.width;
  }
  const float *positionRow(int64_t position) const {
    return positions.data() + position * shape.width;
  }
  const float *normGain() const { return gain.data(); }
  const float *normBias() const { return bias.data(); }

private:
  ModelConfig shape;
  const Kernels *functions;
  std::vector<float> tokens, positions, gain, bias;
  std::vector<Layer> blocks;
};

} // namespace tlm

#endif // TLM_MODEL_LANGUAGEMODEL_H
