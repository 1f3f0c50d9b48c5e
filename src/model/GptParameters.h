//===- GptParameters.h - the weights of a GPT-2 -----------------*- C++ -*-===//
//
// The weights as Hugging Face's GPT2LMHeadModel names and lays them out: the
// matrices of its Conv1D stand as [in][out], so y = x W + b reads them row by
// row. The output layer is the token embedding.
//
// A model folder has config.json and model.safetensors. The second one carries
// two hashes, of the configuration and of its own data; where they stand they
// must fit, and a folder that `transformers` wrote, which has none, is read all
// the same.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_GPTPARAMETERS_H
#define TLM_MODEL_GPTPARAMETERS_H

#include "model/ModelConfig.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tlm {

/// C = width, F = 4 C.
struct GptLayer {
  std::vector<float> norm1Gain, norm1Bias; ///< (C), before the attention
  std::vector<float> attention;            ///< (C, 3C): query, key, value
  std::vector<float> attentionBias;        ///< (3C)
  std::vector<float> projection;           ///< (C, C)
  std::vector<float> projectionBias;       ///< (C)
  std::vector<float> norm2Gain, norm2Bias; ///< (C), before the inner layers
  std::vector<float> expansion;            ///< (C, F)
  std::vector<float> expansionBias;        ///< (F)
  std::vector<float> contraction;          ///< (F, C)
  std::vector<float> contractionBias;      ///< (C)
};

struct GptParameters {
  std::vector<float> tokens;    ///< (V, C)
  std::vector<float> positions; ///< (P, C)
  std::vector<GptLayer> layers;
  std::vector<float> normGain, normBias; ///< (C), after the last layer
};

struct GptFolder {
  ModelConfig config;
  GptParameters parameters;
};

/// Calls visit(name, dims, values) for every tensor of `parameters`, in the
/// order of the file. The one place that knows the names.
template <typename Parameters, typename Visit>
void visitParameters(const ModelConfig &config, Parameters &parameters,
                     const Visit &visit) {
  using Dims = std::vector<int64_t>;
  const int64_t c = config.width, f = config.innerWidth();
  visit("transformer.wte.weight", Dims{config.vocabulary, c},
        parameters.tokens);
  visit("transformer.wpe.weight", Dims{config.positions, c},
        parameters.positions);
  for (size_t i = 0; i < parameters.layers.size(); ++i) {
    std::string at = "transformer.h." + std::to_string(i) + ".";
    auto &layer = parameters.layers[i];
    visit(at + "ln_1.weight", Dims{c}, layer.norm1Gain);
    visit(at + "ln_1.bias", Dims{c}, layer.norm1Bias);
    visit(at + "attn.c_attn.weight", Dims{c, 3 * c}, layer.attention);
    visit(at + "attn.c_attn.bias", Dims{3 * c}, layer.attentionBias);
    visit(at + "attn.c_proj.weight", Dims{c, c}, layer.projection);
    visit(at + "attn.c_proj.bias", Dims{c}, layer.projectionBias);
    visit(at + "ln_2.weight", Dims{c}, layer.norm2Gain);
    visit(at + "ln_2.bias", Dims{c}, layer.norm2Bias);
    visit(at + "mlp.c_fc.weight", Dims{c, f}, layer.expansion);
    visit(at + "mlp.c_fc.bias", Dims{f}, layer.expansionBias);
    visit(at + "mlp.c_proj.weight", Dims{f, c}, layer.contraction);
    visit(at + "mlp.c_proj.bias", Dims{c}, layer.contractionBias);
  }
  visit("transformer.ln_f.weight", Dims{c}, parameters.normGain);
  visit("transformer.ln_f.bias", Dims{c}, parameters.normBias);
}

/// As a training begins: normal with deviation 0.02 (the projections into the
/// residual stream less, by the root of twice the layers), gains 1, biases 0.
GptParameters randomParameters(const ModelConfig &config, uint64_t seed);

/// Refuses, with the reason: a folder without the two files, other
/// architectures and versions, tensors that are missing, unknown or of another
/// shape, hashes that do not fit, values that are not finite.
Result<GptFolder> readModelFolder(const std::string &folder);
/// The same for the bytes of the two files; `folder` is for messages only.
Result<GptFolder> parseModelFolder(const std::string &config,
                                   std::span<const std::byte> weights,
                                   const std::string &folder);

/// Makes the folder where it is missing. The weights are written before the
/// configuration, each atomically; a crash between the two leaves a folder that
/// is refused or the old model.
Status writeModelFolder(const std::string &folder, const ModelConfig &config,
                        const GptParameters &parameters);

} // namespace tlm

#endif // TLM_MODEL_GPTPARAMETERS_H
