#include "model/LanguageModel.h"

#include "base/Hash.h"
#include "model/Adapter.h"

#include <algorithm>
#include <new>

using namespace tlm;

namespace {

constexpr std::align_val_t kCacheLine{64};

} // namespace

AlignedArray::AlignedArray(size_t count)
    : values(static_cast<float *>(
          ::operator new(count * sizeof(float), kCacheLine))) {}

void AlignedArray::Free::operator()(float *values) const {
  ::operator delete(values, kCacheLine);
}

PackedMatrix::PackedMatrix(const std::vector<float> &values,
                           std::vector<float> bias)
    : bias(std::move(bias)) {
  auto columns = int64_t(this->bias.size());
  depth = int64_t(values.size()) / columns;
  int64_t panelCount = (columns + kPanelColumns - 1) / kPanelColumns;
  panels = AlignedArray(size_t(panelCount * depth * kPanelColumns));
  float *to = panels.data();
  for (int64_t panel = 0; panel < panelCount; ++panel) {
    int64_t first = panel * kPanelColumns;
    int64_t count = std::min(kPanelColumns, columns - first);
    for (int64_t k = 0; k < depth; ++k, to += kPanelColumns) {
      std::copy_n(values.data() + k * columns + first, count, to);
      std::fill(to + count, to + kPanelColumns, 0.0f);
    }
  }
}

Result<LanguageModel> LanguageModel::load(const std::string &folder,
                                          const Vocabulary *vocabulary,
                                          const std::string &adapter) {
  TLM_TRY(auto files, readModelFolder(folder));
  const ModelConfig &config = files.config;
  auto known = size_t(config.vocabulary);
  if (vocabulary &&
      (config.vocabularyId.version != kLanguageVersion ||
       known > vocabulary->size() ||
       vocabulary->hash(known) != hexText(config.vocabularyId.hash)))
    return makeError(
        folder + ": the weights are of " + std::to_string(known) +
            " words of version " + std::to_string(config.vocabularyId.version) +
            ", hash " + hexText(config.vocabularyId.hash) +
            "; this program has " + std::to_string(vocabulary->size()) +
            " words of version " + std::to_string(kLanguageVersion) +
            ", hash " + vocabulary->hash(std::min(known, vocabulary->size())),
        "use the weights of this release");
  if (!adapter.empty()) {
    TLM_TRY(auto change, readAdapter(adapter, config, files.parameters));
    applyAdapter(config, change, files.parameters);
  }
  return LanguageModel(config, files.parameters);
}

LanguageModel::LanguageModel(const ModelConfig &config,
                             const GptParameters &parameters,
                             const Kernels *kernels)
    : shape(config), functions(kernels ? kernels : supportedKernels()[0]),
      tokens(parameters.tokens), positions(parameters.positions),
      gain(parameters.normGain), bias(parameters.normBias) {
  for (const GptLayer &layer : parameters.layers)
    blocks.push_back({layer.norm1Gain, layer.norm1Bias, layer.norm2Gain,
                      layer.norm2Bias,
                      PackedMatrix(layer.attention, layer.attentionBias),
                      PackedMatrix(layer.projection, layer.projectionBias),
                      PackedMatrix(layer.expansion, layer.expansionBias),
                      PackedMatrix(layer.contraction, layer.contractionBias)});
}
