//===- ReferenceModel.h - GPT-2 written for reading -------------*- C++ -*-===//
//
// No cache, no batch, no packing, everything in double: what Forward.h is
// compared with.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_MODEL_REFERENCEMODEL_H
#define TLM_MODEL_REFERENCEMODEL_H

#include "model/GptParameters.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tlm {

/// The logits of all tokens after each of `tokens`: (T, V).
std::vector<double> referenceLogits(const ModelConfig &config,
                                    const GptParameters &parameters,
                                    std::span<const int32_t> tokens);

} // namespace tlm

#endif // TLM_MODEL_REFERENCEMODEL_H
