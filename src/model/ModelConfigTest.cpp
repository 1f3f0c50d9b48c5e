#include "model/ModelConfig.h"
#include "model/TestModel.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ModelConfig, TextReadsBack) {
  ModelConfig config = testConfig();
  Result<ModelConfig> again = parseModelConfig(modelConfigText(config), "c");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, config);
}

TEST(ModelConfig, ParametersAreCounted) {
  ModelConfig config = testConfig();
  int64_t count = 0;
  GptParameters parameters = randomParameters(config, 1);
  visitParameters(config, parameters,
                  [&](const std::string &, const std::vector<int64_t> &,
                      const std::vector<float> &values) {
                    count += int64_t(values.size());
                  });
  EXPECT_EQ(config.parameters(), count);
}

TEST(ModelConfig, HashIsOfEveryField) {
  ModelConfig config = testConfig();
  std::vector<ModelConfig> others(8, config);
  ++others[0].layers;
  ++others[1].heads;
  ++others[2].width;
  ++others[3].positions;
  ++others[4].vocabulary;
  others[5].epsilon = 1e-6f;
  ++others[6].vocabularyId.version;
  ++others[7].vocabularyId.hash;
  for (const ModelConfig &other : others)
    EXPECT_NE(other.hash(), config.hash());
}

TEST(ModelConfig, RefusalsNameTheKey) {
  struct Case {
    const char *from, *to, *message;
  };
  const Case cases[] = {
      {"\"gpt2\"", "\"llama\"",
       "c: model_type is \"llama\"; allowed: \"gpt2\""},
      {"\"gelu_new\"", "\"relu\"", "activation_function is \"relu\""},
      {"\"n_layer\": 3", "\"n_layer\": 0", "n_layer is 0; allowed: 1 to 256"},
      {"\"n_layer\": 3", "\"n_layer\": -3", "n_layer is -3"},
      {"\"n_layer\": 3", "\"n_layer\": \"3\"", "n_layer is \"3\""},
      {"\"n_layer\": 3", "\"n_layer\": 99999999999999999999", "n_layer is "},
      {"\"n_head\": 3", "\"n_head\": 6", "n_embd / n_head is 48 / 6"},
      {"\"n_head\": 3", "\"n_heads\": 3", "n_head is missing"},
      {"\"n_inner\": null", "\"n_inner\": 100", "n_inner is 100"},
      {"\"n_positions\": 96", "\"n_positions\": 9000000", "n_positions is"},
      {"1e-05", "0", "layer_norm_epsilon is 0"},
      {"1e-05", "\"x\"", "layer_norm_epsilon is missing or no number"},
      {"\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
       "tie_word_embeddings is false; allowed: true"},
      {"\"tlm_weights_version\": 1", "\"tlm_weights_version\": 2",
       "tlm_weights_version is 2; allowed: 1"},
      {"0123456789abcdef", "0123456789abcdeg", "tlm_vocabulary_hash"},
      {"{", "[", "no JSON object"},
  };
  std::string text = modelConfigText(testConfig());
  for (const Case &c : cases) {
    Result<ModelConfig> result =
        parseModelConfig(replaced(text, c.from, c.to), "c");
    ASSERT_FALSE(result.ok()) << c.to;
    EXPECT_NE(result.error().message.find(c.message), std::string::npos)
        << result.error().message;
  }
}

TEST(ModelConfig, TruncatedAnywhereIsRefused) {
  std::string text = modelConfigText(testConfig());
  for (size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_FALSE(parseModelConfig(text.substr(0, size), "c").ok()) << size;
}

} // namespace
