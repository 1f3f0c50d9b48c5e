//===- TestModel.h - small models for the tests -----------------*- C++ -*-===//

#ifndef TLM_MODEL_TESTMODEL_H
#define TLM_MODEL_TESTMODEL_H

#include "base/Random.h"
#include "model/LanguageModel.h"

#include <filesystem>
#include <string>

namespace tlm {

inline ModelConfig testConfig() {
  ModelConfig config;
  config.layers = 3;
  config.heads = 3;
  config.width = 48; // one and a half panels
  config.positions = 96;
  config.vocabulary = 40;
  config.vocabularyId = {1, 0x0123456789abcdefu};
  return config;
}

/// Larger than at the beginning of a training, gains and biases too, so that
/// attention and the activations leave their linear parts.
inline GptParameters testParameters(const ModelConfig &config, uint64_t seed) {
  GptParameters parameters = randomParameters(config, seed);
  Random random(seed + 1);
  visitParameters(config, parameters,
                  [&](const std::string &, const std::vector<int64_t> &dims,
                      std::vector<float> &values) {
                    for (float &value : values)
                      if (dims.size() == 1)
                        value += float(random.below(1000)) * 4e-4f - 0.2f;
                      else
                        value *= 12;
                  });
  return parameters;
}

inline std::vector<int32_t> testTokens(const ModelConfig &config, int64_t count,
                                       uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(random.below(uint64_t(config.vocabulary))));
  return tokens;
}

/// A folder that is gone after the test.
class TestFolder {
public:
  TestFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tlm-model-XXXXXX").string();
    TLM_CHECK(::mkdtemp(pattern.data())) << pattern;
    path = pattern;
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }

  std::string path;
};

} // namespace tlm

#endif // TLM_MODEL_TESTMODEL_H
