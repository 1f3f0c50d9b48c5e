#include "train/TorchModel.h"
#include "model/Adapter.h"
#include "model/ReferenceModel.h"
#include "model/TestModel.h"
#include "train/BatchOrder.h"
#include "train/TrainTestData.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

std::vector<TensorValues> tensorsOf(const ModelConfig &config,
                                    const GptParameters &parameters) {
  std::vector<TensorValues> tensors;
  visitParameters(config, parameters,
                  [&](const std::string &name, const std::vector<int64_t> &dims,
                      const std::vector<float> &values) {
                    tensors.push_back({name, dims, values});
                  });
  return tensors;
}

class TorchModelTest : public testing::Test {
protected:
  TorchModelTest() {
    configureTorch(1);
    config.layers = 2;
    parameters = testParameters(config, 4);
    shape = {config.layers, config.heads, config.width, double(config.epsilon)};
  }

  ModelConfig config = testConfig();
  GptParameters parameters;
  TorchShape shape;
  std::vector<SentenceGroup> groups = testGroups(5, 8);
  PackedBatch batch = packGroups(groups);
};

TEST_F(TorchModelTest, BlasIsFastAndRight) { EXPECT_EQ(blasComplaint(), ""); }

TEST_F(TorchModelTest, EveryBranchSeesItsPromptAndItself) {
  TorchModel model(shape, tensorsOf(config, parameters), {}, /*inDouble=*/true);
  std::vector<double> logits = model.logits(batch);
  auto words = size_t(config.vocabulary);
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t b = 0; b < groups[g].branches.size(); ++b) {
      std::vector<int32_t> sentence = groups[g].prompt;
      const std::vector<int32_t> &branch = groups[g].branches[b].tokens;
      sentence.insert(sentence.end(), branch.begin(), branch.end());
      std::vector<double> expected =
          referenceLogits(config, parameters, sentence);
      const PackedGroup &packed = batch.groups[g];
      auto branchRow =
          size_t(packed.begin + packed.prompt) + b * size_t(packed.length);
      for (size_t t = 0; t < sentence.size(); ++t) {
        size_t prompt = groups[g].prompt.size();
        size_t row =
            t < prompt ? size_t(packed.begin) + t : branchRow + t - prompt;
        for (size_t v = 0; v < words; ++v)
          ASSERT_NEAR(logits[row * words + v], expected[t * words + v], 1e-9)
              << "group " << g << ", branch " << b << ", token " << t;
      }
    }
}

TEST_F(TorchModelTest, LossIsOfTheTokensToLearn) {
  TorchModel model(shape, tensorsOf(config, parameters), {}, true);
  LossSums sums = model.evaluate(batch);
  std::vector<double> logits = model.logits(batch);
  auto words = size_t(config.vocabulary);
  double loss = 0;
  for (size_t i = 0; i < batch.targets.size(); ++i) {
    const double *row = logits.data() + size_t(batch.lossRows[i]) * words;
    double sum = 0;
    for (size_t v = 0; v < words; ++v)
      sum += std::exp(row[v]);
    loss += std::log(sum) - row[batch.targets[i]];
  }
  EXPECT_NEAR(sums.loss, loss, 1e-9 * loss);
  EXPECT_EQ(sums.targets, int64_t(batch.targets.size()));
}

/// Compares some gradients of every tensor, by its name, with differences of
/// the loss.
void checkGradients(TorchModel &model, const PackedBatch &batch,
                    const std::vector<TensorValues> &tensors, int64_t width) {
  model.learn(batch);
  Random random(6);
  double largest = 0;
  for (const TensorValues &tensor : tensors)
    for (int k = 0; k < 6; ++k) {
      auto i = int64_t(random.below(tensor.values.size()));
      if (tensor.name.ends_with("wte.weight")) // a row that is used
        i = batch.tokens[size_t(k)] * width + 3 * k;
      if (tensor.name.ends_with("wpe.weight"))
        i = k * width + 5 * k;
      const double step = 1e-5, before = model.weight(tensor.name, i);
      model.setWeight(tensor.name, i, before + step);
      double above = model.evaluate(batch).loss;
      model.setWeight(tensor.name, i, before - step);
      double below = model.evaluate(batch).loss;
      model.setWeight(tensor.name, i, before);
      double expected = (above - below) / (2 * step);
      double found = model.gradient(tensor.name, i);
      largest = std::max(largest, std::abs(found));
      EXPECT_NEAR(found, expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << tensor.name << " " << i;
    }
  EXPECT_GT(largest, 0.1);
}

TEST_F(TorchModelTest, GradientsAreThoseOfFiniteDifferences) {
  std::vector<TensorValues> tensors = tensorsOf(config, parameters);
  TorchModel model(shape, tensors, {}, true);
  checkGradients(model, batch, tensors, config.width);
}

TEST_F(TorchModelTest, AdaptersLearnAloneAndAddTheirProduct) {
  Adapter adapter = newAdapter(config, 4, 0.5f, 3);
  Random random(2);
  std::vector<TensorValues> values = tensorsOf(config, parameters), learnt;
  size_t tensor = 0;
  visitAdapter(config, parameters, 4,
               [&](const std::string &name, const std::vector<int64_t> &dims,
                   const std::vector<float> &) {
                 for (float &value : adapter.tensors[tensor])
                   value += float(random.below(100)) * 0.002f - 0.1f;
                 learnt.push_back({name, dims, adapter.tensors[tensor++]});
               });
  values.insert(values.end(), learnt.begin(), learnt.end());
  TorchModel model(shape, values, {4, 0.5}, true);
  checkGradients(model, batch, learnt, config.width);
  std::vector<TensorValues> found = model.values(TorchModel::Kind::Weight);
  ASSERT_EQ(found.size(), learnt.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].name, learnt[i].name);

  GptParameters changed = parameters;
  applyAdapter(config, adapter, changed);
  TorchModel merged(shape, tensorsOf(config, changed), {}, true);
  EXPECT_NEAR(merged.evaluate(batch).loss, model.evaluate(batch).loss, 1e-3);
  TorchModel without(shape, tensorsOf(config, parameters), {}, true);
  EXPECT_GT(
      std::abs(without.evaluate(batch).loss - merged.evaluate(batch).loss),
      0.1);
}

TEST_F(TorchModelTest, GradientsOfBatchesAdd) {
  TorchModel model(shape, tensorsOf(config, parameters), {}, true);
  model.learn(batch);
  std::vector<TensorValues> whole = model.values(TorchModel::Kind::Gradient);
  TorchModel parts(shape, tensorsOf(config, parameters), {}, true);
  for (const SentenceGroup &group : groups)
    parts.learn(packGroups({group}));
  std::vector<TensorValues> sum = parts.values(TorchModel::Kind::Gradient);
  for (size_t t = 0; t < whole.size(); ++t)
    for (size_t i = 0; i < whole[t].values.size(); ++i)
      ASSERT_NEAR(whole[t].values[i], sum[t].values[i], 1e-4) << whole[t].name;
}

TEST_F(TorchModelTest, UpdateIsAdamW) {
  TorchModel model(shape, tensorsOf(config, parameters), {}, true);
  std::string matrix = "transformer.h.0.mlp.c_fc.weight",
              bias = "transformer.h.0.mlp.c_fc.bias";
  double weight[] = {model.weight(matrix, 7), model.weight(bias, 7)};
  double first[2] = {}, second[2] = {};
  for (int64_t t = 1; t <= 3; ++t) {
    LossSums sums = model.learn(batch);
    double gradient[] = {model.gradient(matrix, 7), model.gradient(bias, 7)};
    AdamStep step;
    step.step = t;
    step.rate = 0.01;
    step.targets = sums.targets;
    step.clip = 0.05;
    double norm = model.update(step);
    ASSERT_GT(norm, step.clip);
    for (int k = 0; k < 2; ++k) {
      double g = gradient[k] / double(sums.targets) * step.clip / norm;
      first[k] = 0.9 * first[k] + 0.1 * g;
      second[k] = 0.95 * second[k] + 0.05 * g * g;
      if (k == 0)
        weight[k] *= 1 - 0.01 * 0.1;
      weight[k] -= 0.01 * first[k] / (1 - std::pow(0.9, t)) /
                   (std::sqrt(second[k] / (1 - std::pow(0.95, t))) + 1e-8);
      EXPECT_NEAR(model.weight(k == 0 ? matrix : bias, 7), weight[k], 1e-10);
    }
    EXPECT_EQ(model.gradient(matrix, 7), 0);
  }
}

} // namespace
