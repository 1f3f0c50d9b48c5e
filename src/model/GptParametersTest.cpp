#include "model/GptParameters.h"
#include "base/AtomicFile.h"
#include "model/SafeTensors.h"
#include "model/TestModel.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

ModelConfig tinyConfig() {
  ModelConfig config = testConfig();
  config.layers = 1;
  config.heads = 1;
  config.width = 16;
  config.vocabulary = 3;
  config.positions = 2;
  return config;
}

class GptFolderTest : public testing::Test {
protected:
  void SetUp() override {
    Status written = writeModelFolder(folder.path, config, parameters);
    ASSERT_TRUE(written.ok()) << written.error().message;
    weights = *readWholeFile(weightsPath);
  }
  Result<GptFolder> parse(const std::string &bytes) const {
    return parseModelFolder(modelConfigText(config),
                            std::as_bytes(std::span(bytes)), folder.path);
  }
  void expectRefused(const std::string &bytes, const std::string &message) {
    Result<GptFolder> read = parse(bytes);
    ASSERT_FALSE(read.ok()) << message;
    EXPECT_NE(read.error().message.find(message), std::string::npos)
        << read.error().message;
  }
  /// The weights with one tensor replaced; null leaves it out.
  void writeChanged(const std::string &name, const NamedTensor *tensor) {
    Result<SafeTensors> file = SafeTensors::parse(
        std::as_bytes(std::span(weights)), nullptr, "weights");
    std::vector<NamedTensor> tensors;
    for (const NamedTensor &old : file->tensors())
      if (old.name != name)
        tensors.push_back(old);
    if (tensor)
      tensors.push_back(*tensor);
    ASSERT_TRUE(writeSafeTensors(weightsPath, {}, tensors).ok());
  }

  TestFolder folder;
  ModelConfig config = tinyConfig();
  GptParameters parameters = testParameters(config, 3);
  std::string weightsPath = folder.file("model.safetensors"), weights;
};

bool equal(const ModelConfig &config, GptParameters a, GptParameters b) {
  std::vector<std::vector<float>> values;
  auto collect = [&](const std::string &, const std::vector<int64_t> &,
                     std::vector<float> &tensor) { values.push_back(tensor); };
  visitParameters(config, a, collect);
  size_t count = values.size();
  visitParameters(config, b, collect);
  return values.size() == 2 * count &&
         std::equal(values.begin(), values.begin() + count,
                    values.begin() + count);
}

TEST_F(GptFolderTest, ReadsBack) {
  Result<GptFolder> read = readModelFolder(folder.path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->config, config);
  EXPECT_TRUE(equal(config, read->parameters, parameters));
}

TEST_F(GptFolderTest, TruncatedAnywhereIsRefused) {
  for (size_t size = 0; size < weights.size(); ++size)
    EXPECT_FALSE(parse(weights.substr(0, size)).ok()) << size;
}

TEST_F(GptFolderTest, EveryBitOfTheHeaderFlippedIsRefusedOrHarmless) {
  size_t header =
      8 + size_t(uint8_t(weights[0])) + 256 * size_t(uint8_t(weights[1]));
  ASSERT_LT(header, 4000u);
  int refused = 0;
  for (size_t bit = 0; bit < 8 * header; ++bit) {
    std::string damaged = weights;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
    Result<GptFolder> read = parse(damaged);
    if (!read.ok())
      ++refused;
    else
      EXPECT_TRUE(equal(config, read->parameters, parameters)) << bit;
  }
  EXPECT_GT(refused, int(6 * header));
}

TEST_F(GptFolderTest, EveryBitOfTheDataFlippedIsRefused) {
  for (size_t byte = weights.size() - 2000; byte < weights.size(); byte += 3) {
    std::string damaged = weights;
    damaged[byte] = char(damaged[byte] ^ 0x10);
    expectRefused(damaged, "the hash of the weights is another one");
  }
}

TEST_F(GptFolderTest, ConfigurationOfAnotherModelIsRefused) {
  ModelConfig other = config;
  other.epsilon = 1e-6f; // no shape tells it
  ASSERT_TRUE(
      writeFileAtomically(folder.file("config.json"), modelConfigText(other))
          .ok());
  Result<GptFolder> read = readModelFolder(folder.path);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("belongs to another config.json"),
            std::string::npos);
}

TEST_F(GptFolderTest, TensorsMustBeThoseOfTheConfiguration) {
  std::string name = "transformer.h.0.mlp.c_fc.weight";
  std::vector<float> values(16 * 64, 0.5f);
  NamedTensor tensor{
      name, DType::F32, {64, 16}, std::as_bytes(std::span(values))};
  writeChanged(name, &tensor);
  Result<GptFolder> read = readModelFolder(folder.path);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find(
                name + " is f32[64,16]; config.json asks for f32[16,64]"),
            std::string::npos)
      << read.error().message;

  tensor.dims = {16, 64};
  writeChanged(name, &tensor);
  EXPECT_TRUE(readModelFolder(folder.path).ok()); // without hashes too
  values[77] = NAN;
  writeChanged(name, &tensor);
  EXPECT_FALSE(readModelFolder(folder.path).ok());
  writeChanged(name, nullptr);
  EXPECT_NE(
      readModelFolder(folder.path).error().message.find(name + " is missing"),
      std::string::npos);
  values[77] = 0;
  tensor.name = "transformer.h.1.ln_1.weight";
  writeChanged("", &tensor);
  EXPECT_NE(readModelFolder(folder.path)
                .error()
                .message.find("is not one of GPT-2's"),
            std::string::npos);
}

TEST_F(GptFolderTest, MissingFilesAndForeignOnesAreRefused) {
  expectRefused("no weights at all", "announces a header of");
  std::filesystem::remove(weightsPath);
  EXPECT_FALSE(readModelFolder(folder.path).ok());
  EXPECT_FALSE(readModelFolder(folder.file("nothing")).ok());
}

TEST_F(GptFolderTest, AnotherVocabularyIsRefused) {
  const Vocabulary &vocabulary = Vocabulary::get();
  EXPECT_TRUE(LanguageModel::load(folder.path, nullptr).ok());
  auto load = [&](int64_t version, const std::string &hash) {
    config.vocabularyId = {version, std::stoull(hash, nullptr, 16)};
    EXPECT_TRUE(writeModelFolder(folder.path, config, parameters).ok());
    return LanguageModel::load(folder.path, &vocabulary);
  };
  // Words that were appended since do not matter.
  EXPECT_TRUE(load(kLanguageVersion, vocabulary.hash(3)).ok());
  EXPECT_FALSE(load(kLanguageVersion + 1, vocabulary.hash(3)).ok());
  Result<LanguageModel> model = load(kLanguageVersion, "0000000000000abc");
  ASSERT_FALSE(model.ok());
  EXPECT_NE(model.error().message.find("the weights are of 3 words of version "
                                       "1, hash 0000000000000abc; this"),
            std::string::npos)
      << model.error().message;
}

TEST_F(GptFolderTest, WeightsOfMoreWordsThanThereAreAreRefused) {
  config.vocabulary = int64_t(Vocabulary::get().size()) + 1;
  config.vocabularyId.version = kLanguageVersion;
  ASSERT_TRUE(
      writeModelFolder(folder.path, config, randomParameters(config, 1)).ok());
  EXPECT_FALSE(LanguageModel::load(folder.path, &Vocabulary::get()).ok());
}

} // namespace
