#include "model/Adapter.h"
#include "base/AtomicFile.h"
#include "model/TestModel.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

class AdapterTest : public testing::Test {
protected:
  void SetUp() override {
    Random random(4);
    for (std::vector<float> &tensor : adapter.tensors)
      for (float &value : tensor)
        value = float(random.below(100)) * 0.01f;
    ASSERT_TRUE(writeAdapter(path, config, parameters, adapter).ok());
  }
  void expectRefused(const std::string &what) {
    Result<Adapter> read = readAdapter(path, config, parameters);
    ASSERT_FALSE(read.ok()) << what;
    EXPECT_NE(read.error().message.find(what), std::string::npos)
        << read.error().message;
  }

  TestFolder folder;
  ModelConfig config = testConfig();
  GptParameters parameters = testParameters(config, 5);
  Adapter adapter = newAdapter(config, 3, 0.5f, 1);
  std::string path = folder.file("adapter.safetensors");
};

TEST_F(AdapterTest, ReadsBack) {
  Result<Adapter> read = readAdapter(path, config, parameters);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->rank, 3);
  EXPECT_EQ(read->scale, 0.5f);
  EXPECT_EQ(read->tensors, adapter.tensors);
  EXPECT_EQ(read->tensors.size(), size_t(8 * config.layers));
}

TEST_F(AdapterTest, NewOnesChangeNothing) {
  GptParameters changed = parameters;
  applyAdapter(config, newAdapter(config, 4, 1, 2), changed);
  EXPECT_EQ(hashOf(config, changed), hashOf(config, parameters));
}

TEST_F(AdapterTest, AddsTheProductToEveryLinearLayer) {
  GptParameters changed = parameters;
  applyAdapter(config, adapter, changed);
  auto c = size_t(config.width);
  // The contraction of the second layer: the last of eight pairs.
  const std::vector<float> &a = adapter.tensors[14], &b = adapter.tensors[15];
  for (size_t row : {0u, 17u, 191u})
    for (size_t column : {0u, 5u, 47u}) {
      float sum = 0;
      for (size_t r = 0; r < 3; ++r)
        sum += a[row * 3 + r] * b[r * c + column];
      EXPECT_NEAR(changed.layers[1].contraction[row * c + column],
                  parameters.layers[1].contraction[row * c + column] +
                      0.5f * sum,
                  1e-5);
    }
  EXPECT_EQ(changed.tokens, parameters.tokens);
  EXPECT_EQ(changed.layers[0].expansionBias,
            parameters.layers[0].expansionBias);
}

TEST_F(AdapterTest, OfOtherWeightsIsRefused) {
  parameters.layers[0].projection[3] += 1;
  expectRefused("belongs to other weights");
}

TEST_F(AdapterTest, DamagedOnesAreRefused) {
  std::string bytes = *readWholeFile(path);
  for (size_t at = 0; at < bytes.size(); at += 41) {
    std::string damaged = bytes;
    damaged[at] ^= 2;
    ASSERT_TRUE(writeFileAtomically(path, damaged).ok());
    EXPECT_FALSE(readAdapter(path, config, parameters).ok()) << at;
  }
  ASSERT_TRUE(writeFileAtomically(path, bytes.substr(0, 5000)).ok());
  EXPECT_FALSE(readAdapter(path, config, parameters).ok());
}

} // namespace
