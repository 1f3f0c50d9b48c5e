//===- Adapter.h - what a machine changes about a model ---------*- C++ -*-===//
//
// Low-rank changes of the linear layers, learnt from measurements of one
// machine: W becomes W + scale A B, with A (in, rank) and B (rank, out). A file
// of its own, adapter.safetensors in the folder that `tlm adapt` writes; it
// belongs to one set of weights, whose hash it carries.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_ADAPTER_H
#define TLM_MODEL_ADAPTER_H

#include "model/GptParameters.h"
#include "model/SafeTensors.h"

#include <string>
#include <vector>

namespace tlm {

struct Adapter {
  int64_t rank = 0;
  float scale = 1;
  /// In the order of visitAdapter.
  std::vector<std::vector<float>> tensors;
};

/// Calls visit(name, dims, weight) for the A and the B of every linear layer:
/// "transformer.h.0.attn.c_attn.lora_A". `weight` is the matrix they change.
template <typename Parameters, typename Visit>
void visitAdapter(const ModelConfig &config, Parameters &parameters,
                  int64_t rank, const Visit &visit) {
  visitParameters(
      config, parameters,
      [&](const std::string &name, const std::vector<int64_t> &dims,
          auto &values) {
        std::string end = ".weight";
        if (dims.size() != 2 || name.find(".h.") == std::string::npos)
          return;
        std::string stem = name.substr(0, name.size() - end.size());
        visit(stem + ".lora_A", std::vector<int64_t>{dims[0], rank}, values);
        visit(stem + ".lora_B", std::vector<int64_t>{rank, dims[1]}, values);
      });
}

/// As a training begins: A as randomParameters draws, B zero.
Adapter newAdapter(const ModelConfig &config, int64_t rank, float scale,
                   uint64_t seed);

/// Of all weights; what an adapter is tied to.
uint64_t hashOf(const ModelConfig &config, const GptParameters &parameters);

/// Adds scale A B to the weights.
void applyAdapter(const ModelConfig &config, const Adapter &adapter,
                  GptParameters &parameters);

/// Refuses adapters of other weights, and damaged ones.
Result<Adapter> readAdapter(const std::string &path, const ModelConfig &config,
                            const GptParameters &parameters);
/// The same of a file that is open; errors begin with `where`.
Result<Adapter> adapterOf(const SafeTensors &file, const std::string &where,
                          const ModelConfig &config,
                          const GptParameters &parameters);
Status writeAdapter(const std::string &path, const ModelConfig &config,
                    const GptParameters &parameters, const Adapter &adapter);

} // namespace tlm

#endif // TLM_MODEL_ADAPTER_H
