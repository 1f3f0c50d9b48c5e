#include "model/AnswerWriter.h"

#include "model/Distribution.h"
#include "model/Forward.h"

using namespace tlm;

namespace {

/// Tokens that most answers have room for.
constexpr int64_t kAnswerCapacity = 32;

/// A stream of its own for every answer.
Random randomFor(const DecodeOptions &options, const AnswerLane &lane) {
  Random seed(options.seed);
  Random stream(seed.next() ^ lane.stream);
  Random answer(stream.next() ^ lane.index);
  return Random(answer.next());
}

struct Writing {
  AnswerLane *lane;
  Context context;
  std::unique_ptr<AnswerMask> mask;
  Random random;
  size_t read; ///< tokens of the answer that the context has

  std::span<const int32_t> unread() const {
    return std::span(lane->answer.tokens).subspan(read);
  }
};

} // namespace

Status tlm::checkReadable(const LanguageModel &model, int64_t position,
                          std::span<const int32_t> tokens) {
  const ModelConfig &config = model.config();
  if (tokens.size() > size_t(config.positions - position))
    return makeError("the sentence is longer than the " +
                     std::to_string(config.positions) +
                     " tokens that the language model can read");
  for (int32_t token : tokens)
    if (token < 0 || token >= config.vocabulary)
      return makeError("the sentence has the token " + std::to_string(token) +
                           "; the weights know " +
                           std::to_string(config.vocabulary),
                       "the weights are older than the word");
  return success();
}

void tlm::takeForced(AnswerMask &mask, Answer &answer) {
  while (!mask.done() && mask.allowed().size() == 1) {
    int32_t token = mask.allowed()[0];
    answer.tokens.push_back(token);
    answer.probabilities.push_back(1);
    mask.take(token);
  }
}

void tlm::readSuffixes(const LanguageModel &model,
                       std::span<const DecodeRequest> requests,
                       std::span<Answers> results,
                       std::span<AnswerStart> starts) {
  Inference inference(model, 1);
  std::vector<Tokens> texts(requests.size());
  std::vector<std::shared_ptr<Context>> contexts;
  std::vector<Extension> extensions;
  std::vector<AnswerStart *> wanted;
  for (size_t i = 0; i < requests.size(); ++i) {
    const DecodeRequest &request = requests[i];
    if (!results[i].ok())
      continue;
    AnswerStart &start = starts[i];
    start.mask = request.mask->copy();
    takeForced(*start.mask, start.answer);
    texts[i] = request.suffix;
    if (!start.mask->done())
      texts[i].insert(texts[i].end(), start.answer.tokens.begin(),
                      start.answer.tokens.end());
    Status checked = inference.check(request.context, texts[i]);
    if (!checked.ok()) {
      results[i] = checked.error();
      continue;
    }
    contexts.push_back(std::make_shared<Context>(
        model.config(), request.context, int64_t(texts[i].size())));
    extensions.push_back({contexts.back().get(), texts[i], 1});
    wanted.push_back(&start);
  }
  Forward forward(model);
  forward.run(extensions);
  for (size_t k = 0; k < wanted.size(); ++k) {
    const float *state = forward.state(int64_t(k));
    wanted[k]->context = contexts[k];
    wanted[k]->state.assign(state, state + model.config().width);
  }
}

void tlm::writeAnswers(const LanguageModel &model, std::span<AnswerLane> lanes,
                       const DecodeOptions &options) {
  auto take = [&](Writing &writing, const float *state) {
    std::span<const int32_t> allowed = writing.mask->allowed();
    Distribution next(model, state, allowed);
    size_t i = options.method == DecodeMethod::Greedy
                   ? next.best()
                   : next.draw(options.temperature, writing.random);
    int32_t token = allowed[i];
    Answer &answer = writing.lane->answer;
    answer.tokens.push_back(token);
    answer.probabilities.push_back(next.probabilities()[i]);
    answer.logProbability += next.logProbability(i);
    writing.mask->take(token);
    takeForced(*writing.mask, answer);
  };

  std::vector<Writing> active;
  for (AnswerLane &lane : lanes) {
    const AnswerStart &start = *lane.start;
    if (start.mask->done())
      continue;
    active.push_back({&lane,
                      Context(model.config(), start.context, kAnswerCapacity),
                      start.mask->copy(), randomFor(options, lane),
                      lane.answer.tokens.size()});
    take(active.back(), start.state.data());
  }

  Forward forward(model);
  std::vector<Extension> extensions;
  while (true) {
    std::erase_if(active, [&](Writing &writing) {
      if (writing.mask->done())
        return true;
      Status checked =
          checkReadable(model, writing.context.end(), writing.unread());
      if (!checked)
        writing.lane->failure = checked.error();
      return !checked.ok();
    });
    if (active.empty())
      return;
    extensions.clear();
    for (Writing &writing : active) {
      extensions.push_back({&writing.context, writing.unread(), 1});
      writing.read = writing.lane->answer.tokens.size();
    }
    forward.run(extensions);
    for (size_t i = 0; i < active.size(); ++i)
      take(active[i], forward.state(int64_t(i)));
  }
}
