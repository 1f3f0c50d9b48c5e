#include "model/ReferenceModel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace tlm;

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>; ///< one per position

Row normalise(const Row &x, const std::vector<float> &gain,
              const std::vector<float> &bias, double epsilon) {
  double mean = 0, variance = 0;
  for (double value : x)
    mean += value / double(x.size());
  for (double value : x)
    variance += (value - mean) * (value - mean) / double(x.size());
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * double(gain[i]) +
           double(bias[i]);
  return y;
}

/// x w + bias; w: (x.size(), bias.size()).
Row linear(const Row &x, const std::vector<float> &w,
           const std::vector<float> &bias) {
  Row y(bias.begin(), bias.end());
  for (size_t k = 0; k < x.size(); ++k)
    for (size_t n = 0; n < y.size(); ++n)
      y[n] += x[k] * double(w[k * y.size() + n]);
  return y;
}

double gelu(double x) {
  double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}

/// What position t reads from the positions up to it; mixed: (T, 3C).
Row attend(const Rows &mixed, size_t t, size_t heads) {
  size_t c = mixed[0].size() / 3, d = c / heads;
  Row y(c, 0.0);
  for (size_t h = 0; h < heads; ++h) {
    Row weights(t + 1);
    for (size_t s = 0; s <= t; ++s) {
      for (size_t i = h * d; i < (h + 1) * d; ++i)
        weights[s] += mixed[t][i] * mixed[s][c + i];
      weights[s] /= std::sqrt(double(d));
    }
    double largest = *std::ranges::max_element(weights), sum = 0;
    for (double &weight : weights)
      sum += weight = std::exp(weight - largest);
    for (size_t s = 0; s <= t; ++s)
      for (size_t i = h * d; i < (h + 1) * d; ++i)
        y[i] += weights[s] / sum * mixed[s][2 * c + i];
  }
  return y;
}

void addTo(Row &x, const Row &y) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += y[i];
}

} // namespace

std::vector<double> tlm::referenceLogits(const ModelConfig &config,
                                         const GptParameters &parameters,
                                         std::span<const int32_t> tokens) {
  auto c = size_t(config.width);
  auto epsilon = double(config.epsilon);
  Rows stream;
  for (size_t t = 0; t < tokens.size(); ++t) {
    stream.emplace_back(c);
    for (size_t i = 0; i < c; ++i)
      stream[t][i] = double(parameters.tokens[size_t(tokens[t]) * c + i]) +
                     double(parameters.positions[t * c + i]);
  }
  for (const GptLayer &layer : parameters.layers) {
    Rows mixed;
    for (const Row &x : stream)
      mixed.push_back(
          linear(normalise(x, layer.norm1Gain, layer.norm1Bias, epsilon),
                 layer.attention, layer.attentionBias));
    for (size_t t = 0; t < stream.size(); ++t) {
      addTo(stream[t], linear(attend(mixed, t, size_t(config.heads)),
                              layer.projection, layer.projectionBias));
      Row inner = linear(
          normalise(stream[t], layer.norm2Gain, layer.norm2Bias, epsilon),
          layer.expansion, layer.expansionBias);
      std::ranges::transform(inner, inner.begin(), gelu);
      addTo(stream[t], linear(inner, layer.contraction, layer.contractionBias));
    }
  }

  std::vector<double> logits;
  for (const Row &x : stream) {
    Row y = normalise(x, parameters.normGain, parameters.normBias, epsilon);
    for (int64_t token = 0; token < config.vocabulary; ++token) {
      double sum = 0;
      for (size_t i = 0; i < c; ++i)
        sum += y[i] * double(parameters.tokens[size_t(token) * c + i]);
      logits.push_back(sum);
    }
  }
  return logits;
}
