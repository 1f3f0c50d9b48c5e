#include "model/Distribution.h"

#include "model/Forward.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

/// Below every logit that counts: exp of it is far below a float's last bit.
constexpr float kNever = -1e30f;

/// Natural logarithm of a normal number, by the series of atanh: additions and
/// products only, which libm's is not (its last bits depend on the CPU).
double logarithm(double x) {
  int exponent;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, series = 0;
  for (int n = 25; n >= 1; n -= 2)
    series = series * square + 1.0 / n;
  return 2 * s * series + exponent * 0.69314718055994531;
}

double sumOf(const std::vector<float> &values) {
  double sum = 0;
  for (float value : values)
    sum += double(value);
  return sum;
}

} // namespace

Distribution::Distribution(const LanguageModel &model, const float *state,
                           std::span<const int32_t> allowed)
    : kernels(model.kernels()) {
  TLM_CHECK(!allowed.empty()) << "nothing is allowed";
  logits.reserve(allowed.size());
  float largest = kNever;
  for (int32_t token : allowed) {
    float value =
        token < model.config().vocabulary ? logit(model, state, token) : kNever;
    logits.push_back(value > kNever ? std::min(value, -kNever) : kNever);
    largest = std::max(largest, logits.back());
  }
  for (float &value : logits)
    value -= largest;
  shares = logits;
  kernels.exponential(shares.data(), int64_t(shares.size()));
  sum = sumOf(shares);
  for (float &share : shares)
    share = float(double(share) / sum);
}

size_t Distribution::best() const {
  return size_t(std::ranges::max_element(logits) - logits.begin());
}

size_t Distribution::draw(float temperature, Random &random) const {
  std::vector<float> weights = logits;
  for (float &weight : weights)
    weight /= temperature;
  kernels.exponential(weights.data(), int64_t(weights.size()));
  double rest = double(random.next() >> 11) * 0x1p-53 * sumOf(weights);
  for (size_t i = 0; i < weights.size(); ++i) {
    rest -= double(weights[i]);
    if (rest < 0)
      return i;
  }
  return best(); // the roundings left nothing over
}

double Distribution::logProbability(size_t i) const {
  return double(logits[i]) - logarithm(sum);
}
