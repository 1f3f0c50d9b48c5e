#include "model/GptParameters.h"

#include "base/AtomicFile.h"
#include "base/Hash.h"
#include "base/MappedFile.h"
#include "base/Random.h"
#include "model/SafeTensors.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>
#include <set>

using namespace tlm;

namespace {

constexpr const char *kConfigFile = "config.json";
constexpr const char *kWeightsFile = "model.safetensors";
constexpr const char *kConfigHash = "tlm_config_hash";
constexpr const char *kDataHash = "tlm_data_hash";

std::string inFolder(const std::string &folder, const char *file) {
  return (std::filesystem::path(folder) / file).string();
}

std::string dimsText(const std::vector<int64_t> &dims) {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

bool allFinite(const std::vector<float> &values) {
  // Finite values times zero add up to zero.
  float sum = 0;
  for (float value : values)
    sum += value * 0.0f;
  return sum == 0.0f;
}

/// What does not fit `config`, or empty.
std::string bind(const SafeTensors &file, const ModelConfig &config,
                 GptParameters &parameters) {
  std::map<std::string, const NamedTensor *> byName;
  for (const NamedTensor &tensor : file.tensors())
    byName[tensor.name] = &tensor;

  parameters.layers.resize(size_t(config.layers));
  std::string bad;
  visitParameters(
      config, parameters,
      [&](const std::string &name, const std::vector<int64_t> &dims,
          std::vector<float> &values) {
        auto found = byName.find(name);
        if (!bad.empty())
          return;
        if (found == byName.end()) {
          bad = "tensor " + name + " is missing";
          return;
        }
        const NamedTensor &tensor = *found->second;
        byName.erase(found);
        if (tensor.dtype != DType::F32 || tensor.dims != dims) {
          bad = "tensor " + name + " is " + std::string(nameOf(tensor.dtype)) +
                dimsText(tensor.dims) + "; config.json asks for f32" +
                dimsText(dims);
          return;
        }
        values.resize(tensor.bytes.size() / sizeof(float));
        std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
        if (!allFinite(values))
          bad = "tensor " + name + " has values that are not finite";
      });
  if (bad.empty() && !byName.empty())
    bad = "tensor " + byName.begin()->first + " is not one of GPT-2's";
  return bad;
}

/// Normal, by Box and Muller; in double, so that libm's last bits do not show.
float normal(Random &random) {
  double u = double((random.next() >> 11) + 1) * 0x1p-53;
  double v = double(random.next() >> 11) * 0x1p-53;
  return float(std::sqrt(-2 * std::log(u)) *
               std::cos(2 * std::numbers::pi * v));
}

} // namespace

GptParameters tlm::randomParameters(const ModelConfig &config, uint64_t seed) {
  GptParameters parameters;
  parameters.layers.resize(size_t(config.layers));
  Random random(seed);
  float residual = 0.02f / std::sqrt(2.0f * float(config.layers));
  visitParameters(config, parameters,
                  [&](const std::string &name, const std::vector<int64_t> &dims,
                      std::vector<float> &values) {
                    if (dims.size() == 1) {
                      bool gain = name.find("ln_") != std::string::npos &&
                                  name.ends_with("weight");
                      values.assign(size_t(dims[0]), gain ? 1.0f : 0.0f);
                      return;
                    }
                    float deviation =
                        name.ends_with("c_proj.weight") ? residual : 0.02f;
                    values.resize(size_t(dims[0] * dims[1]));
                    for (float &value : values)
                      value = deviation * normal(random);
                  });
  return parameters;
}

Result<GptFolder> tlm::readModelFolder(const std::string &folder) {
  TLM_TRY(auto text, readWholeFile(inFolder(folder, kConfigFile)));
  TLM_TRY(auto file, MappedFile::open(inFolder(folder, kWeightsFile)));
  return parseModelFolder(text, {file->data(), file->sizeBytes()}, folder);
}

Result<GptFolder> tlm::parseModelFolder(const std::string &config,
                                        std::span<const std::byte> weights,
                                        const std::string &folder) {
  GptFolder model;
  TLM_TRY(model.config,
          parseModelConfig(config, inFolder(folder, kConfigFile)));
  std::string path = inFolder(folder, kWeightsFile);
  TLM_TRY(auto file, SafeTensors::parse(weights, nullptr, path));
  auto must = [&](const char *key, uint64_t hash) {
    auto it = file.metadata().find(key);
    return it == file.metadata().end() || it->second == hexText(hash);
  };
  // Every layer has tensors: a wrong count must not cost memory.
  if (uint64_t(model.config.layers) > file.tensors().size())
    return makeError(path + ": has " + std::to_string(file.tensors().size()) +
                     " tensors; config.json asks for " +
                     std::to_string(model.config.layers) + " layers");
  std::span<const std::byte> data = file.data();
  if (!must(kDataHash, hashOfData({&data, 1})))
    return makeError(path + ": the hash of the weights is another one",
                     "the file is damaged");
  if (!must(kConfigHash, model.config.hash()))
    return makeError(path + ": belongs to another config.json");
  if (std::string bad = bind(file, model.config, model.parameters);
      !bad.empty())
    return makeError(path + ": " + bad);
  return model;
}

Status tlm::writeModelFolder(const std::string &folder,
                             const ModelConfig &config,
                             const GptParameters &parameters) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return makeError(folder + ": " + failed.message());
  std::vector<NamedTensor> tensors;
  std::vector<std::span<const std::byte>> pieces;
  visitParameters(config, parameters,
                  [&](const std::string &name, const std::vector<int64_t> &dims,
                      const std::vector<float> &values) {
                    pieces.push_back(std::as_bytes(std::span(values)));
                    tensors.push_back({name, DType::F32, dims, pieces.back()});
                  });
  TLM_TRY_STATUS(writeSafeTensors(inFolder(folder, kWeightsFile),
                                  {{"format", "pt"},
                                   {kConfigHash, hexText(config.hash())},
                                   {kDataHash, hexText(hashOfData(pieces))}},
                                  tensors));
  return writeFileAtomically(inFolder(folder, kConfigFile),
                             modelConfigText(config));
}
