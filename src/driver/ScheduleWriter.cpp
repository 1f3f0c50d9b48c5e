#include "driver/ScheduleWriter.h"

#include "base/Hash.h"
#include "lang/Answer.h"
#include "lang/AnswerCursor.h"
#include "lang/Sentence.h"
#include "model/Inference.h"
#include "space/DefaultSchedule.h"

#include <algorithm>
#include <deque>

using namespace tlm;

namespace {

/// The best bucket is asked for.
constexpr int kBest = 0;

/// Something for every answer of every task, as decode() returns them.
struct Draft {
  size_t task = 0; ///< index into the batch
  Answer answer;
};

std::string textOf(const Error &error) {
  return error.hint.empty() ? error.message
                            : error.message + " (" + error.hint + ")";
}

/// Weights that are older than a word never choose it, unless all that is legal
/// is such words: then there is no answer.
bool knowsAll(const LanguageModel &model, const Tokens &tokens) {
  return std::ranges::all_of(
      tokens, [&](Token token) { return token < model.config().vocabulary; });
}

void rank(std::vector<WrittenSchedule> &answers) {
  std::ranges::stable_sort(
      answers, [](const WrittenSchedule &a, const WrittenSchedule &b) {
        double shareA = a.expectedShare.value_or(0),
               shareB = b.expectedShare.value_or(0);
        return shareA != shareB ? shareA > shareB
                                : a.logProbability > b.logProbability;
      });
}

/// Answers that cut their kernel into chunks as the default schedule does:
/// workers of a network meet by the chunks of its steps (driver/Stripes.h), of
/// which a task alone knows nothing. Not where the algorithm is another one.
class ChunksOfRules {
public:
  ChunksOfRules(const Space &space, Schedule byRules)
      : cursor(space), byRules(std::move(byRules)),
        row(this->byRules.get(Decision::RegisterRow, "f", 1)) {
    narrow();
  }

  bool done() const { return cursor.done(); }
  std::span<const int32_t> allowed() const {
    return nearest ? std::span<const int32_t>(&*nearest, 1) : cursor.allowed();
  }
  void take(int32_t token) {
    if (const std::optional<DecisionPoint> &point = cursor.point()) {
      int64_t value = cursor.valueOf(token);
      if (point->decision == Decision::Algorithm)
        differs = value != byRules.get(Decision::Algorithm, "", value);
      if (point->decision == Decision::RegisterRow)
        row = value;
    }
    cursor.take(token);
    narrow();
  }

private:
  void narrow() {
    nearest.reset();
    if (differs || !cursor.point())
      return;
    const DecisionPoint &point = *cursor.point();
    if (point.decision != Decision::ParallelTile &&
        point.decision != Decision::MaxParallelism)
      return;
    int64_t wish = byRules.get(point.decision, point.subject, 0);
    if (!wish)
      return;
    // Panels are of as many filters as a register tile.
    if (point.subject == "f")
      wish = std::max<int64_t>(
          1, wish * byRules.get(Decision::RegisterRow, "f", row) / row);
    std::vector<int64_t> values;
    for (Token token : cursor.allowed())
      values.push_back(cursor.valueOf(token));
    int64_t value = nearestBelow(values, wish);
    nearest = cursor.allowed()[size_t(std::ranges::find(values, value) -
                                      values.begin())];
  }

  AnswerCursor cursor;
  Schedule byRules;
  int64_t row; ///< register_row of the answer
  /// The only token allowed, where the rules have a say.
  std::optional<int32_t> nearest;
  bool differs = false; ///< the algorithm from that of the rules
};

/// The tasks that have something to decide, and what is known of them.
struct Batch {
  std::deque<Space> spaces; ///< cursors point to them
  std::vector<const Task *> tasks;
  std::vector<WrittenSchedules *> results;
  std::vector<Tokens> prompts;
  std::vector<DecodeRequest> requests; ///< of those that can be read
  std::vector<size_t> readable;        ///< the requests' tasks
  std::vector<Draft> drafts;
};

void decode(const Inference &inference, const LanguageModel &model,
            Batch &batch, const DecodeOptions &options) {
  std::vector<Answers> decoded = inference.decode(batch.requests, options);
  for (size_t i = 0; i < decoded.size(); ++i) {
    size_t task = batch.readable[i];
    if (!decoded[i]) {
      batch.results[task]->refused = textOf(decoded[i].error());
      continue;
    }
    for (Answer &answer : *decoded[i]) {
      batch.results[task]->tokensWritten += int64_t(answer.tokens.size());
      if (knowsAll(model, answer.tokens))
        batch.drafts.push_back({task, std::move(answer)});
      else
        batch.results[task]->refused =
            "the weights know none of the words that are legal";
    }
  }
}

/// What the model expects of every draft.
std::vector<std::optional<double>> judge(const Inference &inference,
                                         const Batch &batch) {
  std::vector<JudgeRequest> requests;
  std::vector<ContextRef> contexts(batch.spaces.size());
  for (size_t i = 0; i < batch.requests.size(); ++i)
    contexts[batch.readable[i]] = batch.requests[i].context;
  for (const Draft &draft : batch.drafts) {
    Tokens tokens = promptSuffix(std::nullopt);
    tokens.insert(tokens.end(), draft.answer.tokens.begin(),
                  draft.answer.tokens.end());
    requests.push_back({contexts[draft.task], std::move(tokens)});
  }
  std::vector<int32_t> buckets;
  for (int bucket = 0; bucket < kQualityBuckets; ++bucket)
    buckets.push_back(qualityToken(bucket));
  std::vector<std::optional<double>> shares;
  for (const std::vector<float> &chances : inference.judge(requests, buckets)) {
    std::optional<double> share;
    for (size_t bucket = 0; bucket < chances.size(); ++bucket)
      share = share.value_or(0) +
              double(chances[bucket]) * qualityShare(int(bucket));
    shares.push_back(share);
  }
  return shares;
}

} // namespace

Result<ScheduleWriter> ScheduleWriter::load(const WriterOptions &options) {
  TLM_TRY(LanguageModel model,
          LanguageModel::load(options.folder, &Vocabulary::get()));
  return ScheduleWriter(std::move(model), options);
}

std::vector<WrittenSchedules>
ScheduleWriter::write(std::span<const Task *const> tasks, const Target &target,
                      const ScheduleOptions &scheduleOptions,
                      int threads) const {
  std::vector<WrittenSchedules> written(tasks.size());
  Batch batch;
  std::vector<uint64_t> streams;
  Hardware hardware = Hardware::of(target);
  for (size_t i = 0; i < tasks.size(); ++i) {
    batch.spaces.emplace_back(*tasks[i], target, scheduleOptions);
    if (!batch.spaces.back().next({})) {
      batch.spaces.pop_back();
      continue;
    }
    batch.tasks.push_back(tasks[i]);
    batch.results.push_back(&written[i]);
    batch.prompts.push_back(promptPrefix(hardware, *tasks[i]));
    streams.push_back(hash64(tasks[i]->key()));
  }

  Inference inference(model, threads);
  std::vector<Result<ContextRef>> contexts = inference.read(batch.prompts);
  for (size_t i = 0; i < contexts.size(); ++i) {
    if (!contexts[i]) {
      batch.results[i]->refused = textOf(contexts[i].error());
      continue;
    }
    batch.results[i]->tokensRead = int64_t(batch.prompts[i].size());
    batch.readable.push_back(i);
    const Space &space = batch.spaces[i];
    batch.requests.push_back(
        {*contexts[i], promptSuffix(kBest),
         target.threads > 1
             ? maskOf(
                   ChunksOfRules(space, defaultSchedule(*batch.tasks[i], target,
                                                        scheduleOptions)))
             : maskOf(AnswerCursor(space)),
         streams[i]});
  }
  decode(inference, model, batch, {.method = DecodeMethod::Greedy});
  if (options.samples > 1)
    decode(inference, model, batch,
           {.method = DecodeMethod::Sample,
            .answers = options.samples - 1,
            .temperature = options.temperature,
            .seed = options.seed});
  std::vector<std::optional<double>> shares(batch.drafts.size());
  if (options.samples > 1 || options.judgesAlways)
    shares = judge(inference, batch);

  for (size_t i = 0; i < batch.drafts.size(); ++i) {
    const Draft &draft = batch.drafts[i];
    Result<Schedule> schedule =
        parseAnswer(batch.spaces[draft.task], draft.answer.tokens);
    TLM_CHECK(schedule) << schedule.error().message;
    std::vector<WrittenSchedule> &answers = batch.results[draft.task]->answers;
    if (std::ranges::any_of(answers, [&](const WrittenSchedule &other) {
          return other.schedule == *schedule;
        }))
      continue;
    std::vector<float> probabilities = draft.answer.probabilities;
    probabilities.pop_back(); // of [EOS]
    answers.push_back({std::move(*schedule), std::move(probabilities),
                       draft.answer.logProbability, shares[i]});
  }
  for (WrittenSchedules *result : batch.results) {
    rank(result->answers);
    if (!result->answers.empty())
      result->refused.clear();
  }
  return written;
}
