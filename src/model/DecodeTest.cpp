#include "model/Distribution.h"
#include "model/Forward.h"
#include "model/Inference.h"
#include "model/TestModel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace tlm;

namespace {

/// An answer of 2 to 6 tokens; the choices follow from those before.
class TestCursor {
public:
  explicit TestCursor(int32_t seed) : state(seed) { next(); }
  bool done() const { return left == 0; }
  std::span<const int32_t> allowed() const { return choices; }
  void take(int32_t token) {
    EXPECT_TRUE(std::ranges::binary_search(choices, token)) << token;
    state = (state * 31 + token) % 9973;
    left = taken++ == 0 ? 1 + token % 5 : left - 1;
    next();
  }

private:
  void next() {
    choices.clear();
    for (int32_t token = state % 7; token < 40; token += 3 + state % 5)
      choices.push_back(token);
  }

  int32_t state, left = 1, taken = 0;
  std::vector<int32_t> choices;
};

class DecodeTest : public testing::Test {
protected:
  static std::vector<ContextRef> read(const Inference &inference,
                                      std::span<const Tokens> prompts) {
    std::vector<ContextRef> contexts;
    for (const Result<ContextRef> &context : inference.read(prompts))
      contexts.push_back(*context);
    return contexts;
  }

  std::vector<Tokens> prompts() const {
    // All begin alike; a long one, and one that is the beginning alone.
    std::vector<Tokens> prompts;
    Tokens beginning = testTokens(config, 17, 1);
    for (int64_t length : {5, 30, 0, 12, 12, 44}) {
      Tokens more = testTokens(config, length, uint64_t(length));
      prompts.push_back(beginning);
      prompts.back().insert(prompts.back().end(), more.begin(), more.end());
    }
    return prompts;
  }

  std::vector<DecodeRequest>
  requestsFor(const std::vector<ContextRef> &contexts) const {
    std::vector<DecodeRequest> requests;
    for (size_t i = 0; i < contexts.size(); ++i)
      requests.push_back({contexts[i],
                          {int32_t(i), 39},
                          maskOf(TestCursor(int32_t(i) * 17 + 3)),
                          i});
    return requests;
  }

  std::vector<Answers> decode(const LanguageModel &with, int threads,
                              const DecodeOptions &options) const {
    Inference inference(with, threads);
    return inference.decode(requestsFor(read(inference, prompts())), options);
  }

  void expectSame(const std::vector<Answers> &a,
                  const std::vector<Answers> &b) const {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(a[i].ok() && b[i].ok());
      ASSERT_EQ(a[i]->size(), b[i]->size());
      for (size_t k = 0; k < a[i]->size(); ++k) {
        EXPECT_EQ((*a[i])[k].tokens, (*b[i])[k].tokens);
        EXPECT_EQ((*a[i])[k].probabilities, (*b[i])[k].probabilities);
        EXPECT_EQ((*a[i])[k].logProbability, (*b[i])[k].logProbability);
      }
    }
  }

  ModelConfig config = testConfig();
  GptParameters parameters = testParameters(config, 5);
  LanguageModel model{config, parameters};
};

const DecodeOptions kMethods[] = {
    {DecodeMethod::Greedy, 1, 1, 0},
    {DecodeMethod::Sample, 7, 1.5f, 11},
    {DecodeMethod::Beam, 4, 1, 0},
};

TEST_F(DecodeTest, TheSameForEveryThreadCountAndInstructionSet) {
  for (const DecodeOptions &options : kMethods) {
    std::vector<Answers> expected = decode(model, 1, options);
    expectSame(expected, decode(model, 2, options));
    expectSame(expected, decode(model, 5, options));
    for (const Kernels *const *k = supportedKernels(); *k; ++k)
      expectSame(expected,
                 decode(LanguageModel(config, parameters, *k), 3, options));
  }
}

TEST_F(DecodeTest, ARequestAloneGivesTheSame) {
  for (const DecodeOptions &options : kMethods) {
    std::vector<Answers> all = decode(model, 2, options);
    Inference inference(model, 1);
    std::vector<Tokens> texts = prompts();
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<ContextRef> contexts(texts.size());
      contexts[i] = read(inference, {&texts[i], 1})[0];
      DecodeRequest request = requestsFor(contexts)[i];
      std::vector<Answers> alone = inference.decode({&request, 1}, options);
      expectSame({all[i]}, alone);
    }
  }
}

TEST_F(DecodeTest, GreedyTakesTheLikeliestAllowedToken) {
  std::vector<Answers> answers = decode(model, 1, kMethods[0]);
  std::vector<Tokens> texts = prompts();
  for (size_t i = 0; i < texts.size(); ++i) {
    const Answer &answer = answers[i]->at(0);
    Tokens sentence = texts[i];
    sentence.insert(sentence.end(), {int32_t(i), 39});
    TestCursor cursor(int32_t(i) * 17 + 3);
    double sum = 0;
    for (size_t t = 0; t < answer.tokens.size(); ++t) {
      Context context(config, nullptr, 1);
      Extension extension{&context, sentence};
      Forward forward(model);
      forward.run({&extension, 1});
      int32_t best = cursor.allowed()[0];
      double total = 0;
      for (int32_t token : cursor.allowed()) {
        total += std::exp(double(logit(model, forward.state(0), token)));
        if (logit(model, forward.state(0), token) >
            logit(model, forward.state(0), best))
          best = token;
      }
      double p = std::exp(double(logit(model, forward.state(0), best))) / total;
      ASSERT_EQ(answer.tokens[t], best);
      EXPECT_NEAR(answer.probabilities[t], p, 1e-5);
      sum += std::log(p);
      cursor.take(best);
      sentence.push_back(best);
    }
    EXPECT_TRUE(cursor.done());
    EXPECT_NEAR(answer.logProbability, sum, 1e-5);
  }
}

TEST_F(DecodeTest, SamplesDifferAndTheirIndexFixesThem) {
  DecodeOptions options = kMethods[1];
  std::vector<Answers> seven = decode(model, 1, options);
  options.answers = 3;
  std::vector<Answers> three = decode(model, 1, options);
  std::set<Tokens> different;
  for (size_t i = 0; i < seven.size(); ++i) {
    ASSERT_EQ(seven[i]->size(), 7u);
    for (size_t k = 0; k < 3; ++k)
      EXPECT_EQ(seven[i]->at(k).tokens, three[i]->at(k).tokens);
    for (const Answer &answer : *seven[i])
      different.insert(answer.tokens);
  }
  EXPECT_GT(different.size(), 12u);
  options.seed = 12;
  std::vector<Answers> other = decode(model, 1, options);
  bool anyOther = false;
  for (size_t i = 0; i < other.size(); ++i)
    anyOther |= other[i]->at(0).tokens != three[i]->at(0).tokens;
  EXPECT_TRUE(anyOther);
}

TEST_F(DecodeTest, DrawsFollowTheDistribution) {
  std::vector<float> state(size_t(config.width), 0.3f);
  std::vector<int32_t> allowed = {1, 5, 6, 20};
  Distribution distribution(model, state.data(), allowed);
  const std::vector<float> &p = distribution.probabilities();
  for (float temperature : {1.0f, 0.5f}) {
    double total = 0;
    for (float share : p)
      total += std::pow(double(share), 1 / temperature);
    std::vector<int> drawn(4);
    Random random(3);
    for (int i = 0; i < 40000; ++i)
      ++drawn[distribution.draw(temperature, random)];
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(drawn[i] / 40000.0,
                  std::pow(double(p[i]), 1 / temperature) / total, 0.015);
  }
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(distribution.logProbability(i), std::log(double(p[i])), 1e-6);
}

/// All answers of a cursor with their probabilities, by walking the tree.
void enumerate(const LanguageModel &model, const TestCursor &cursor,
               Tokens sentence, Answer answer, std::vector<Answer> &all) {
  if (cursor.done()) {
    all.push_back(answer);
    return;
  }
  Context context(model.config(), nullptr, 1);
  Extension extension{&context, sentence};
  Forward forward(model);
  forward.run({&extension, 1});
  Distribution next(model, forward.state(0), cursor.allowed());
  for (size_t i = 0; i < cursor.allowed().size(); ++i) {
    int32_t token = cursor.allowed()[i];
    if (token % 5 > 1)
      continue; // answers of up to three tokens
    TestCursor further = cursor;
    further.take(token);
    Answer longer = answer;
    longer.tokens.push_back(token);
    longer.logProbability += next.logProbability(i);
    Tokens more = sentence;
    more.push_back(token);
    enumerate(model, further, more, longer, all);
  }
}

TEST_F(DecodeTest, WideBeamsFindTheLikeliestAnswer) {
  DecodeOptions options{DecodeMethod::Beam, 400, 1, 0};
  Inference inference(model, 1);
  Tokens prompt = testTokens(config, 9, 4);
  std::vector<ContextRef> contexts = read(inference, {&prompt, 1});
  DecodeRequest request{contexts[0], {3}, maskOf(TestCursor(40)), 0};
  Answers beams = inference.decode({&request, 1}, options)[0];
  ASSERT_TRUE(beams.ok());
  ASSERT_GT(beams->size(), 10u);
  for (size_t i = 1; i < beams->size(); ++i)
    EXPECT_GE(beams->at(i - 1).logProbability, beams->at(i).logProbability);

  prompt.push_back(3);
  std::vector<Answer> all;
  enumerate(model, TestCursor(40), prompt, {}, all);
  ASSERT_GT(all.size(), 10u);
  auto best = std::ranges::max_element(all, {}, &Answer::logProbability);
  EXPECT_GE(beams->at(0).logProbability, best->logProbability - 1e-9);
  Answers greedy = inference.decode({&request, 1}, kMethods[0])[0];
  EXPECT_GE(beams->at(0).logProbability, greedy->at(0).logProbability);
}

TEST_F(DecodeTest, SentencesThatCannotBeReadAreRefusedAlone) {
  Inference inference(model, 2);
  std::vector<Tokens> texts = prompts();
  texts.push_back(testTokens(config, config.positions + 1, 1));
  texts.push_back({1, 2, int32_t(config.vocabulary)});
  texts.push_back(testTokens(config, config.positions - 1, 2));
  texts.push_back(testTokens(config, config.positions - 2, 2));
  std::vector<Result<ContextRef>> read = inference.read(texts);
  auto complains = [](const auto &result, const std::string &what) {
    return !result.ok() &&
           result.error().message.find(what) != std::string::npos;
  };
  EXPECT_TRUE(complains(read[6], "longer than the 96 tokens"));
  EXPECT_TRUE(complains(read[7], "has the token 40; the weights know 40"));
  std::vector<ContextRef> contexts;
  for (const Result<ContextRef> &context : read)
    if (context.ok())
      contexts.push_back(*context);
  ASSERT_EQ(contexts.size(), 8u);
  // Of the last two one has no room for the suffix, one none for the answer.
  for (const DecodeOptions &options : kMethods) {
    std::vector<Answers> answers =
        inference.decode(requestsFor(contexts), options);
    for (size_t i = 0; i < 6; ++i)
      EXPECT_TRUE(answers[i].ok()) << i;
    for (size_t i = 6; i < 8; ++i)
      EXPECT_TRUE(complains(answers[i], "longer than the 96 tokens")) << i;
  }
}

/// Tokens without a choice at the beginning, in the middle and at the end.
struct ForcedCursor {
  bool done() const { return place == 6; }
  std::span<const int32_t> allowed() const {
    static constexpr int32_t kTokens[] = {8, 9, 10};
    bool choice = place == 2 || place == 4;
    return {kTokens, choice ? 3u : 1u};
  }
  void take(int32_t) { ++place; }
  int place = 0;
};

TEST_F(DecodeTest, TokensWithoutAChoiceAreReadAllTheSame) {
  Inference inference(model, 1);
  for (const DecodeOptions &options : kMethods) {
    DecodeRequest request{nullptr, {3, 4}, maskOf(ForcedCursor()), 0};
    Answers answers = inference.decode({&request, 1}, options)[0];
    ASSERT_TRUE(answers.ok());
    for (const Answer &answer : *answers) {
      ASSERT_EQ(answer.tokens.size(), 6u);
      Tokens sentence = {3, 4};
      double sum = 0;
      for (size_t i = 0; i < 6; ++i) {
        if (i == 2 || i == 4) {
          Context context(config, nullptr, 1);
          Extension extension{&context, sentence};
          Forward forward(model);
          forward.run({&extension, 1});
          std::vector<int32_t> allowed = {8, 9, 10};
          Distribution next(model, forward.state(0), allowed);
          auto chosen = size_t(answer.tokens[i] - 8);
          EXPECT_EQ(answer.probabilities[i], next.probabilities()[chosen]);
          sum += next.logProbability(chosen);
        } else {
          EXPECT_EQ(answer.tokens[i], 8);
          EXPECT_EQ(answer.probabilities[i], 1);
        }
        sentence.push_back(answer.tokens[i]);
      }
      EXPECT_EQ(answer.logProbability, sum);
    }
  }
}

/// A choice between words of which the weights know none, or one.
struct NewerCursor {
  explicit NewerCursor(bool oneKnown) : oneKnown(oneKnown) {}
  bool done() const { return place == 3; }
  std::span<const int32_t> allowed() const {
    static constexpr int32_t kTokens[] = {3, 4, 41, 40};
    return place != 1 ? std::span(kTokens).first(2)
           : oneKnown ? std::span(kTokens).subspan(1, 3)
                      : std::span(kTokens).subspan(2, 2);
  }
  void take(int32_t) { ++place; }
  bool oneKnown;
  int place = 0;
};

TEST_F(DecodeTest, DecisionsThatAreNewToTheWeightsAreRefused) {
  Inference inference(model, 1);
  for (const DecodeOptions &options : kMethods) {
    std::vector<DecodeRequest> requests = {
        {nullptr, {3}, maskOf(NewerCursor(false)), 0},
        {nullptr, {3}, maskOf(NewerCursor(true)), 1}};
    std::vector<Answers> answers = inference.decode(requests, options);
    ASSERT_FALSE(answers[0].ok());
    EXPECT_NE(answers[0].error().message.find("the weights know 40"),
              std::string::npos);
    ASSERT_TRUE(answers[1].ok()) << answers[1].error().message;
    for (const Answer &answer : *answers[1])
      EXPECT_EQ(answer.tokens[1], 4);
  }
}

TEST_F(DecodeTest, WordsNewerThanTheWeightsAreNotWritten) {
  std::vector<float> state(size_t(config.width), 0.3f);
  std::vector<int32_t> allowed = {3, 40, 5, 41};
  const Distribution distribution(model, state.data(), allowed);
  EXPECT_LT(distribution.probabilities()[1], 1e-30f);
  EXPECT_LT(distribution.probabilities()[3], 1e-30f);
  EXPECT_NE(distribution.best() % 2, 1u);
}

TEST_F(DecodeTest, JudgingGivesTheChancesOfTheNextToken) {
  Inference one(model, 1), three(model, 3);
  std::vector<Tokens> texts = prompts();
  std::vector<int32_t> asked = {4, 9, 11, 30};
  std::vector<JudgeRequest> requests;
  for (const ContextRef &context : read(one, texts))
    for (int64_t length : {1, 9, 20})
      requests.push_back({context, testTokens(config, length, 77)});
  requests.push_back({nullptr, testTokens(config, config.positions + 1, 1)});
  std::vector<std::vector<float>> chances = one.judge(requests, asked);
  EXPECT_EQ(chances, three.judge(requests, asked));
  EXPECT_TRUE(chances.back().empty());
  for (size_t i = 0; i + 1 < requests.size(); ++i) {
    Tokens sentence = texts[i / 3];
    sentence.insert(sentence.end(), requests[i].tokens.begin(),
                    requests[i].tokens.end());
    Context context(config, nullptr, 1);
    Extension extension{&context, sentence};
    Forward forward(model);
    forward.run({&extension, 1});
    EXPECT_EQ(chances[i],
              Distribution(model, forward.state(0), asked).probabilities());
  }
}

TEST_F(DecodeTest, WeightsOutOfAllBoundsGiveAnswersAllTheSame) {
  for (float &value : parameters.layers[1].contraction)
    value *= 1e36f;
  LanguageModel wild(config, parameters);
  for (const DecodeOptions &options : kMethods)
    for (const Answers &answers : decode(wild, 2, options)) {
      ASSERT_TRUE(answers.ok());
      EXPECT_FALSE(answers->empty());
    }
}

} // namespace
