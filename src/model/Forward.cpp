#include "model/Forward.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

void atLeast(std::vector<float> &values, int64_t count) {
  if (values.size() < size_t(count))
    values.resize(size_t(count));
}

} // namespace

void Forward::run(std::span<const Extension> extensions) {
  const int64_t c = model.config().width;
  rows = 0;
  for (const Extension &extension : extensions)
    rows += int64_t(extension.tokens.size());
  if (rows == 0)
    return;
  atLeast(stream, rows * c);
  atLeast(normalised, rows * c);
  atLeast(mixed, rows * 3 * c);
  atLeast(inner, rows * 4 * c);
  atLeast(packed, rows * 4 * c);

  embed(extensions);
  for (int64_t layer = 0; layer < model.config().layers; ++layer)
    runLayer(layer, extensions);

  atLeast(states, rows * c);
  for (int64_t row = 0; row < rows; ++row)
    model.kernels().normalise(stream.data() + row * c, model.normGain(),
                              model.normBias(), states.data() + row * c, c,
                              model.config().epsilon);
}

void Forward::embed(std::span<const Extension> extensions) {
  const ModelConfig &config = model.config();
  float *to = stream.data();
  for (const Extension &extension : extensions) {
    Context &context = *extension.context;
    int64_t position = context.end();
    context.extend(int64_t(extension.tokens.size()));
    TLM_CHECK(context.end() <= config.positions)
        << context.end() << " tokens, " << config.positions << " allowed";
    for (int32_t token : extension.tokens) {
      TLM_CHECK(token >= 0 && token < config.vocabulary) << "token " << token;
      const float *a = model.tokenRow(token), *b = model.positionRow(position);
      for (int64_t i = 0; i < config.width; ++i)
        to[i] = a[i] + b[i];
      to += config.width;
      ++position;
    }
  }
}

void Forward::runLayer(int64_t index, std::span<const Extension> extensions) {
  const ModelConfig &config = model.config();
  const Kernels &kernels = model.kernels();
  const LanguageModel::Layer &layer = model.layers()[size_t(index)];
  const int64_t c = config.width, f = config.innerWidth();
  auto normalise = [&](const std::vector<float> &gain,
                       const std::vector<float> &bias) {
    for (int64_t row = 0; row < rows; ++row)
      kernels.normalise(stream.data() + row * c, gain.data(), bias.data(),
                        normalised.data() + row * c, c, config.epsilon);
  };
  auto matmul = [&](const std::vector<float> &x, const PackedMatrix &w,
                    std::vector<float> &y, bool add) {
    MatrixView view = w.view();
    kernels.matmul(x.data(), view.depth, &view, y.data(), view.columns, rows,
                   add, packed.data());
  };

  normalise(layer.norm1Gain, layer.norm1Bias);
  matmul(normalised, layer.attention, mixed, false);
  // After the last layer's keys and values only the states asked for go on.
  attend(index, extensions, index + 1 == config.layers);
  matmul(normalised, layer.projection, stream, true);

  normalise(layer.norm2Gain, layer.norm2Bias);
  matmul(normalised, layer.expansion, inner, false);
  kernels.gelu(inner.data(), rows * f);
  matmul(inner, layer.contraction, stream, true);
}

void Forward::attend(int64_t layer, std::span<const Extension> extensions,
                     bool onlyStates) {
  const ModelConfig &config = model.config();
  const int64_t c = config.width, headWidth = config.headWidth();
  const float scale = 1.0f / std::sqrt(float(headWidth));
  int64_t row = 0, kept = 0;
  for (const Extension &extension : extensions) {
    auto count = int64_t(extension.tokens.size());
    if (count == 0)
      continue;
    const float *queries = mixed.data() + row * 3 * c;
    extension.context->write(layer, queries + c, queries + 2 * c, 3 * c, count);
    int64_t asked = onlyStates ? std::min(extension.states, count) : count;
    int64_t skipped = count - asked;
    if (asked > 0) {
      extension.context->spans(layer, spans);
      int64_t positions = extension.context->end();
      atLeast(scores, 8 * (positions + 2 * kLanes));
      for (int64_t head = 0; head < config.heads; ++head) {
        model.kernels().attend(
            queries + skipped * 3 * c + head * headWidth, 3 * c, asked,
            spans.data(), int64_t(spans.size()), headWidth, scale,
            normalised.data() + kept * c + head * headWidth, c, scores.data());
        extension.context->nextHead(spans);
      }
      if (kept != row + skipped)
        std::copy_n(stream.data() + (row + skipped) * c, asked * c,
                    stream.data() + kept * c);
    }
    row += count;
    kept += asked;
  }
  rows = kept;
}
