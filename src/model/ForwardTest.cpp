#include "model/Forward.h"
#include "model/ReferenceModel.h"
#include "model/TestModel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

/// 3 layers of f32 against double; measured 2e-6.
constexpr double kLogitTolerance = 1e-4;

using Logits = std::vector<float>;

/// Appends the logits after the last `states` tokens.
void collect(const LanguageModel &model, const Forward &forward, int64_t first,
             int64_t states, Logits &logits) {
  for (int64_t i = first; i < first + states; ++i)
    for (int32_t token = 0; token < model.config().vocabulary; ++token)
      logits.push_back(logit(model, forward.state(i), token));
}

Logits logitsOf(const LanguageModel &model, std::span<const int32_t> tokens) {
  Context context(model.config(), nullptr, 1);
  Extension extension{&context, tokens, int64_t(tokens.size())};
  Forward forward(model);
  forward.run({&extension, 1});
  Logits logits;
  collect(model, forward, 0, extension.states, logits);
  return logits;
}

bool sameBits(const Logits &a, const Logits &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ForwardTest : public testing::Test {
protected:
  ModelConfig config = testConfig();
  GptParameters parameters = testParameters(config, 5);
  LanguageModel model{config, parameters};
  std::vector<int32_t> tokens = testTokens(config, 71, 9);
};

TEST_F(ForwardTest, LogitsAreTheReferences) {
  std::vector<double> expected = referenceLogits(config, parameters, tokens);
  Logits found = logitsOf(model, tokens);
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
  }
  EXPECT_GT(largest, 1); // not only noise around zero
  EXPECT_LT(difference, kLogitTolerance);
}

TEST_F(ForwardTest, EveryInstructionSetGivesTheSameBits) {
  Logits first = logitsOf(model, tokens);
  for (const Kernels *const *k = supportedKernels(); *k; ++k)
    EXPECT_TRUE(sameBits(
        first, logitsOf(LanguageModel(config, parameters, *k), tokens)))
        << (*k)->name;
}

TEST_F(ForwardTest, TokenByTokenIsTheSame) {
  Logits expected = logitsOf(model, tokens), found;
  Context context(config, nullptr, 1); // has to grow
  Forward forward(model);
  for (int32_t token : tokens) {
    Extension extension{&context, {&token, 1}};
    forward.run({&extension, 1});
    collect(model, forward, 0, 1, found);
  }
  EXPECT_TRUE(sameBits(expected, found));
}

TEST_F(ForwardTest, SharedBeginningsAndABatchAreTheSame) {
  Forward forward(model);
  std::span<const int32_t> all = tokens;
  auto beginning = std::make_shared<Context>(config, nullptr, 0);
  Extension extension{beginning.get(), all.first(21), 0};
  forward.run({&extension, 1});
  // Three sentences that begin alike, of different lengths, in one pass.
  std::vector<std::vector<int32_t>> sentences;
  std::vector<Context> contexts;
  std::vector<Extension> extensions;
  for (int64_t length : {1, 50, 17}) {
    std::vector<int32_t> sentence(all.begin(), all.begin() + 21);
    std::vector<int32_t> more = testTokens(config, length, uint64_t(length));
    sentence.insert(sentence.end(), more.begin(), more.end());
    sentences.push_back(sentence);
    contexts.emplace_back(config, beginning, 3);
  }
  for (size_t i = 0; i < sentences.size(); ++i)
    extensions.push_back(
        {&contexts[i], std::span<const int32_t>(sentences[i]).subspan(21), 1});
  forward.run(extensions);
  for (size_t i = 0; i < sentences.size(); ++i) {
    Logits found, whole = logitsOf(model, sentences[i]);
    collect(model, forward, int64_t(i), 1, found);
    EXPECT_TRUE(sameBits(found, {whole.end() - config.vocabulary, whole.end()}))
        << i;
  }
}

TEST_F(ForwardTest, StatesAskedForAreTheSameAsAllOfThem) {
  Logits whole = logitsOf(model, tokens), found;
  Context context(config, nullptr, 1);
  Extension extension{&context, tokens, 5};
  Forward forward(model);
  forward.run({&extension, 1});
  collect(model, forward, 0, 5, found);
  EXPECT_TRUE(
      sameBits(found, {whole.end() - 5 * config.vocabulary, whole.end()}));
}

TEST_F(ForwardTest, PanelsWithoutARestAreTheReferencesToo) {
  config.heads = 2;
  config.width = 64;
  config.layers = 1;
  parameters = testParameters(config, 6);
  std::vector<double> expected = referenceLogits(config, parameters, tokens);
  Logits found = logitsOf(LanguageModel(config, parameters), tokens);
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], kLogitTolerance);
}

} // namespace
