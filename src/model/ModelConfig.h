//===- ModelConfig.h - the shape of a language model ------------*- C++ -*-===//
//
// What config.json of a model folder says. The names and the meaning are those
// of Hugging Face's GPT2Config, so that `transformers` opens the folder; three
// keys are ours: the version of the weights' layout and the vocabulary that the
// weights were trained on. Other architectures and variants are refused.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_MODELCONFIG_H
#define TLM_MODEL_MODELCONFIG_H

#include "base/Result.h"

#include <cstdint>
#include <string>

namespace tlm {

/// Version of what TLM stores in a model folder.
inline constexpr int64_t kWeightsVersion = 1;

/// Which vocabulary token ids belong to: kLanguageVersion of lang/, and the
/// hash of as many words as the weights know.
struct VocabularyId {
  int64_t version = 0;
  uint64_t hash = 0;
  bool operator==(const VocabularyId &) const = default;
};

struct ModelConfig {
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t width = 0;      ///< n_embd; a head's share is a multiple of 16
  int64_t positions = 0;  ///< tokens of the longest sentence
  int64_t vocabulary = 0; ///< number of tokens
  float epsilon = 1e-5f;  ///< of the layer norms
  VocabularyId vocabularyId;

  int64_t headWidth() const { return width / heads; }
  int64_t innerWidth() const { return 4 * width; }
  /// Number of weights; the output shares the token embedding.
  int64_t parameters() const;
  /// What is out of bounds, or empty.
  std::string verify() const;
  /// Of every field; stored beside the weights, so that neither file can be
  /// exchanged alone.
  uint64_t hash() const;
  bool operator==(const ModelConfig &) const = default;
};

/// Reads the text of config.json; `where` begins the error.
Result<ModelConfig> parseModelConfig(const std::string &text,
                                     const std::string &where);
/// The text of config.json.
std::string modelConfigText(const ModelConfig &config);

} // namespace tlm

#endif // TLM_MODEL_MODELCONFIG_H
