#include "train/TrainOptions.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

using namespace tlm;

std::string TrainOptions::verify() const {
  if (steps < 1 || batchTokens < 1 || warmup < 0 || warmup > steps)
    return "steps, batch tokens and warm-up must be positive, and the warm-up "
           "no longer than the training";
  if (!(rate > 0) || !(decay >= 0) || !(clip > 0) || !(finalShare >= 0) ||
      finalShare > 1)
    return "rate and clip must be above 0, decay 0 or more, the final share "
           "between 0 and 1";
  if (rank < 0 || rank > 1024 || !std::isfinite(scale))
    return "the rank of an adapter must be between 1 and 1024, its scale "
           "finite";
  if (world < 1 || world > 1024 || threads < 1 || threads > 1024)
    return "processes and threads must be between 1 and 1024";
  ModelConfig shape = config({}, 1);
  return shape.verify();
}

double TrainOptions::rateAt(int64_t step) const {
  if (step < warmup)
    return rate * double(step + 1) / double(warmup);
  double done =
      double(step - warmup) / double(std::max<int64_t>(1, steps - warmup));
  double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
  return rate * (finalShare + (1 - finalShare) * cosine);
}

ModelConfig TrainOptions::config(const VocabularyId &id,
                                 int64_t vocabulary) const {
  ModelConfig config;
  config.layers = layers;
  config.heads = heads;
  config.width = width;
  config.positions = positions;
  config.vocabulary = vocabulary;
  config.vocabularyId = id;
  return config;
}

std::string TrainOptions::text() const {
  return nlohmann::json{
      {"layers", layers},       {"heads", heads},      {"width", width},
      {"positions", positions}, {"steps", steps},      {"batch", batchTokens},
      {"rate", rate},           {"final", finalShare}, {"warmup", warmup},
      {"decay", decay},         {"clip", clip},        {"seed", seed},
      {"rank", rank},           {"scale", scale},      {"rank", rank},
      {"scale", scale},         {"world", world},      {"threads", threads}}
      .dump();
}
