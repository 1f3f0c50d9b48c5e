#include "train/Trainer.h"

#include "base/Hash.h"
#include "lang/Quality.h"
#include "model/Adapter.h"
#include "model/SafeTensors.h"
#include "train/BatchOrder.h"
#include "train/Checkpoint.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

using namespace tlm;

namespace {

constexpr const char *kCheckpointFile = "checkpoint.safetensors";
constexpr const char *kAdapterFile = "adapter.safetensors";

std::vector<TensorValues> toTensors(const ModelConfig &config,
                                    const GptParameters &parameters) {
  std::vector<TensorValues> tensors;
  visitParameters(config, parameters,
                  [&](const std::string &name, const std::vector<int64_t> &dims,
                      const std::vector<float> &values) {
                    tensors.push_back({name, dims, values});
                  });
  return tensors;
}

GptParameters toParameters(const ModelConfig &config,
                           const std::vector<TensorValues> &tensors) {
  GptParameters parameters;
  parameters.layers.resize(size_t(config.layers));
  size_t i = 0;
  visitParameters(config, parameters,
                  [&](const std::string &name, const std::vector<int64_t> &,
                      std::vector<float> &values) {
                    TLM_CHECK(tensors[i].name == name) << name;
                    values = tensors[i++].values;
                  });
  return parameters;
}

std::string formatted(const char *format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

TorchShape shapeOf(const ModelConfig &config) {
  return {config.layers, config.heads, config.width, double(config.epsilon)};
}

Status fits(const std::string &path, const SentenceFile &file,
            int64_t positions) {
  if (file.size() == 0)
    return makeError(path + ": has no sentences");
  if (file.longest() > positions)
    return makeError(path + ": has a sentence of " +
                     std::to_string(file.longest()) +
                     " tokens; the model reads " + std::to_string(positions));
  return success();
}

/// Whether the token ids of a model are the first words of this program.
bool hasFirstWords(const ModelConfig &config) {
  const Vocabulary &vocabulary = Vocabulary::get();
  auto words = size_t(config.vocabulary);
  return config.vocabularyId.version == kLanguageVersion &&
         words <= vocabulary.size() &&
         vocabulary.hash(words) == hexText(config.vocabularyId.hash);
}

bool knowsQualities(const ModelConfig &config) {
  for (int bucket = 0; bucket < kQualityBuckets; ++bucket)
    if (qualityToken(bucket) >= config.vocabulary)
      return false;
  return true;
}

/// Weights from before some words existed get drawn rows for these.
void learnNewWords(GptFolder &folder, const ModelConfig &config,
                   uint64_t seed) {
  if (folder.config.vocabulary >= config.vocabulary ||
      folder.config.width != config.width || !hasFirstWords(folder.config) ||
      !hasFirstWords(config))
    return;
  std::vector<float> rows = randomParameters(config, seed).tokens;
  std::ranges::copy(folder.parameters.tokens, rows.begin());
  folder.parameters.tokens = std::move(rows);
  folder.config.vocabulary = config.vocabulary;
  folder.config.vocabularyId = config.vocabularyId;
}

/// Group by group: a file of any size.
LossSums evaluateFile(const TorchModel &model, const SentenceFile &file) {
  LossSums all;
  for (int64_t i = 0; i < file.size(); ++i) {
    LossSums sums = model.evaluate(packGroups({file.group(i)}));
    all.loss += sums.loss;
    all.correct += sums.correct;
    all.targets += sums.targets;
  }
  return all;
}

class Run {
public:
  Run(const TrainOptions &options, const TrainPaths &paths,
      const TrainPace &pace, const TrainRank &rank,
      const std::function<void(std::string)> &report)
      : options(options), paths(paths), pace(pace), rank(rank), report(report) {
  }

  Result<TrainResult> operator()();

private:
  Status prepare();
  Status begin();
  LossSums step();
  void validate();
  Status save();
  void progress(const LossSums &sums, double norm);
  std::string outPath(const char *file) const {
    return (std::filesystem::path(paths.out) / file).string();
  }

  const TrainOptions &options;
  const TrainPaths &paths;
  const TrainPace &pace;
  const TrainRank &rank;
  const std::function<void(std::string)> &report;

  std::optional<SentenceFile> data, validation;
  std::optional<BatchOrder> order;
  std::unique_ptr<TorchModel> model;
  ModelConfig config;
  GptParameters base; ///< of an adapter
  Checkpoint now;     ///< without the tensors, which are in the model
  TrainResult result;
  std::chrono::steady_clock::time_point started;
  int64_t firstStep = 0;
  double tokens = 0; ///< of this process's run, all processes together
};

/// Opens the data; what does not go together is refused.
Status Run::prepare() {
  if (std::string bad = options.verify(); !bad.empty())
    return makeError(bad, {}, ErrorCode::Usage);
  auto opened = [&](const std::string &path,
                    std::optional<SentenceFile> &file) -> Status {
    TLM_TRY(file, SentenceFile::open(path));
    return fits(path, *file, options.positions);
  };
  TLM_TRY_STATUS(opened(paths.data, data));
  config = options.config(data->vocabularyId(), data->vocabulary());
  if (std::string bad = config.verify(); !bad.empty())
    return makeError(paths.data + ": " + bad);
  if (!paths.validation.empty()) {
    TLM_TRY_STATUS(opened(paths.validation, validation));
    if (validation->vocabularyId() != data->vocabularyId() ||
        validation->vocabulary() != data->vocabulary())
      return makeError(paths.validation + ": is of another vocabulary than " +
                       paths.data);
  }
  order.emplace(*data, options.seed, options.batchTokens);
  return success();
}

/// The first weights: drawn, of a folder, or of the checkpoint.
Status Run::begin() {
  std::vector<TensorValues> values, adapter;
  if (paths.start.empty()) {
    values = toTensors(config, randomParameters(config, options.seed));
  } else {
    TLM_TRY(auto folder, readModelFolder(paths.start));
    if (options.rank == 0)
      learnNewWords(folder, config, options.seed);
    if (folder.config != config)
      return makeError(paths.start + ": is of another shape or vocabulary",
                       "give the flags that it was trained with");
    values = toTensors(config, folder.parameters);
    base = std::move(folder.parameters);
  }
  if (options.rank > 0) {
    if (paths.start.empty())
      return makeError("an adapter needs the model that it is for",
                       "give --start", ErrorCode::Usage);
    Adapter fresh =
        newAdapter(config, options.rank, float(options.scale), options.seed);
    size_t i = 0;
    visitAdapter(config, base, options.rank,
                 [&](const std::string &name, const std::vector<int64_t> &dims,
                     const std::vector<float> &) {
                   adapter.push_back({name, dims, fresh.tensors[i++]});
                 });
    values.insert(values.end(), adapter.begin(), adapter.end());
  }
  std::string bytes;
  for (const TensorValues &tensor : values)
    bytes.append(reinterpret_cast<const char *>(tensor.values.data()),
                 tensor.values.size() * sizeof(float));
  std::span<const std::byte> piece = std::as_bytes(std::span(bytes));
  now.options = options.text();
  now.data = hexText(data->hash());
  now.config = hexText(config.hash());
  now.start = hexText(hashOfData({&piece, 1}));

  model = std::make_unique<TorchModel>(
      shapeOf(config), values, TorchAdapter{options.rank, options.scale});
  if (pace.resume && std::filesystem::exists(outPath(kCheckpointFile))) {
    now.weights = adapter.empty() ? std::move(values) : std::move(adapter);
    TLM_TRY(now, readCheckpoint(outPath(kCheckpointFile), now));
    model->setValues(TorchModel::Kind::Weight, now.weights);
    model->setValues(TorchModel::Kind::FirstMoment, now.first);
    model->setValues(TorchModel::Kind::SecondMoment, now.second);
    now.weights = now.first = now.second = {};
    report("resumed behind step " + std::to_string(now.step));
  }
  if (options.world > 1) {
    std::string failed = model->join(rank.storeFile, rank.rank, options.world);
    if (!failed.empty())
      return makeError("the processes do not find each other: " + failed, {},
                       ErrorCode::Machine);
  }
  return success();
}

LossSums Run::step() {
  std::vector<int64_t> batch = order->next(now.cursor);
  std::vector<SentenceGroup> mine;
  for (size_t i = 0; i < batch.size(); ++i) {
    tokens += double(data->tokensOf(batch[i]));
    if (int64_t(i) % options.world == rank.rank)
      mine.push_back(data->group(batch[i]));
  }
  LossSums sums = model->learn(packGroups(mine));
  model->share(sums);
  return sums;
}

void Run::validate() {
  if (!validation)
    return;
  LossSums all = evaluateFile(*model, *validation);
  result.validationLoss = all.loss / double(all.targets);
  result.validationCorrect = double(all.correct) / double(all.targets);
  report(formatted("step %lld: validation loss %.4f, %.1f %% right",
                   static_cast<long long>(now.step), result.validationLoss,
                   100 * result.validationCorrect));
}

Status Run::save() {
  if (rank.rank != 0)
    return success();
  Checkpoint whole = now;
  whole.weights = model->values(TorchModel::Kind::Weight);
  whole.first = model->values(TorchModel::Kind::FirstMoment);
  whole.second = model->values(TorchModel::Kind::SecondMoment);
  if (options.rank > 0) {
    Adapter adapter{options.rank, float(options.scale), {}};
    for (const TensorValues &tensor : whole.weights)
      adapter.tensors.push_back(tensor.values);
    TLM_TRY_STATUS(writeAdapter(outPath(kAdapterFile), config, base, adapter));
  } else {
    TLM_TRY_STATUS(writeModelFolder(paths.out, config,
                                    toParameters(config, whole.weights)));
  }
  return writeCheckpoint(outPath(kCheckpointFile), whole);
}

void Run::progress(const LossSums &sums, double norm) {
  std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - started;
  result.tokensPerSecond = tokens / time.count();
  double left = time.count() / double(now.step - firstStep) *
                double(options.steps - now.step);
  report(formatted(
      "step %lld of %lld: loss %.4f, %.1f %% right, rate %.2e, gradient %.2f, "
      "epoch %lld, %.0f tokens/s, %.0f s left",
      static_cast<long long>(now.step), static_cast<long long>(options.steps),
      result.loss, 100 * double(sums.correct) / double(sums.targets),
      options.rateAt(now.step - 1), norm,
      static_cast<long long>(now.cursor.epoch), result.tokensPerSecond, left));
}

Result<TrainResult> Run::operator()() {
  TLM_TRY_STATUS(prepare());
  TLM_TRY_STATUS(begin());
  if (rank.rank == 0) {
    std::error_code failed;
    std::filesystem::create_directories(paths.out, failed);
    if (failed)
      return makeError(paths.out + ": " + failed.message());
  }
  started = std::chrono::steady_clock::now();
  firstStep = now.step;
  while (now.step < options.steps) {
    AdamStep adam;
    adam.rate = options.rateAt(now.step);
    adam.step = now.step + 1;
    adam.decay = options.decay;
    adam.clip = options.clip;
    LossSums sums = step();
    if (!std::isfinite(sums.loss))
      return makeError("the loss of step " + std::to_string(now.step + 1) +
                           " is not finite",
                       "a smaller rate may help; the last checkpoint is kept");
    adam.targets = sums.targets;
    double norm = model->update(adam);
    ++now.step;
    result.loss = sums.loss / double(sums.targets);
    auto due = [&](int64_t every) {
      return now.step == options.steps || now.step == pace.stopAfter ||
             (every > 0 && now.step % every == 0);
    };
    if (due(pace.reportEvery))
      progress(sums, norm);
    if (due(pace.validateEvery))
      validate();
    if (due(pace.checkpointEvery))
      TLM_TRY_STATUS(save());
    if (now.step == pace.stopAfter)
      break;
  }
  result.steps = now.step;
  return result;
}

} // namespace

Result<TrainResult> tlm::train(const TrainOptions &options,
                               const TrainPaths &paths, const TrainPace &pace,
                               const TrainRank &rank,
                               const std::function<void(std::string)> &report) {
  return Run(options, paths, pace, rank, report)();
}

Result<Evaluation> tlm::evaluate(const std::string &folder,
                                 const std::string &adapter,
                                 const std::string &data) {
  TLM_TRY(auto model, readModelFolder(folder));
  if (!adapter.empty()) {
    TLM_TRY(auto change, readAdapter(adapter, model.config, model.parameters));
    applyAdapter(model.config, change, model.parameters);
  }
  TLM_TRY(auto file, SentenceFile::open(data));
  TLM_TRY_STATUS(fits(data, file, model.config.positions));
  if (file.vocabularyId() != model.config.vocabularyId ||
      file.vocabulary() != model.config.vocabulary)
    return makeError(data + ": is of another vocabulary than " + folder);
  TorchModel torch(shapeOf(model.config),
                   toTensors(model.config, model.parameters));
  Evaluation evaluation;
  evaluation.sums = evaluateFile(torch, file);
  if (hasFirstWords(model.config) && knowsQualities(model.config))
    evaluation.ranks = rankAnswers(torch, file);
  return evaluation;
}

Status tlm::takeShape(const std::string &folder, TrainOptions &options) {
  TLM_TRY(auto model, readModelFolder(folder));
  options.layers = model.config.layers;
  options.heads = model.config.heads;
  options.width = model.config.width;
  options.positions = model.config.positions;
  return success();
}
