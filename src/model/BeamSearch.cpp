#include "model/AnswerWriter.h"
#include "model/Distribution.h"
#include "model/Forward.h"

#include <algorithm>

using namespace tlm;

namespace {

constexpr int64_t kAnswerCapacity = 32;

struct Beam {
  Answer answer;
  std::unique_ptr<AnswerMask> mask;
  Context context;
  std::vector<float> state; ///< after the tokens that were read
  size_t read;              ///< tokens of the answer that the context has

  bool done() const { return mask->done(); }
  std::span<const int32_t> unread() const {
    return std::span(answer.tokens).subspan(read);
  }
};

/// A beam one token longer, or a finished one as it is (no token).
struct Candidate {
  size_t beam;
  double logProbability;
  float probability = 1;
  int32_t token = -1;
};

std::vector<Candidate> candidatesOf(const LanguageModel &model,
                                    const std::vector<Beam> &beams,
                                    int64_t width) {
  std::vector<Candidate> candidates;
  for (size_t b = 0; b < beams.size(); ++b) {
    const Beam &beam = beams[b];
    if (beam.done()) {
      candidates.push_back({b, beam.answer.logProbability});
      continue;
    }
    std::span<const int32_t> allowed = beam.mask->allowed();
    Distribution next(model, beam.state.data(), allowed);
    // Words that the weights do not know are no candidates beside known ones.
    int64_t known = model.config().vocabulary;
    bool any = std::ranges::any_of(
        allowed, [&](int32_t token) { return token < known; });
    for (size_t i = 0; i < allowed.size(); ++i)
      if (!any || allowed[i] < known)
        candidates.push_back(
            {b, beam.answer.logProbability + next.logProbability(i),
             next.probabilities()[i], allowed[i]});
  }
  // Stable: of equals the better beam's, then the one allowed first.
  std::ranges::stable_sort(candidates, std::ranges::greater(),
                           &Candidate::logProbability);
  if (candidates.size() > size_t(width))
    candidates.resize(size_t(width));
  return candidates;
}

class Search {
public:
  Search(const LanguageModel &model, const AnswerStart &start, int64_t width)
      : model(model), width(width) {
    beams.push_back({start.answer, start.mask->copy(),
                     Context(model.config(), start.context, kAnswerCapacity),
                     start.state, start.answer.tokens.size()});
  }

  /// Whether there is anything left to write.
  bool step(std::vector<Extension> &extensions) {
    if (std::ranges::all_of(beams, &Beam::done))
      return false;
    std::vector<Beam> next;
    for (const Candidate &candidate : candidatesOf(model, beams, width)) {
      const Beam &from = beams[candidate.beam];
      Beam beam{from.answer, from.mask->copy(), from.context, {}, from.read};
      if (candidate.token >= 0) {
        beam.answer.tokens.push_back(candidate.token);
        beam.answer.probabilities.push_back(candidate.probability);
        beam.answer.logProbability = candidate.logProbability;
        beam.mask->take(candidate.token);
        takeForced(*beam.mask, beam.answer);
      }
      next.push_back(std::move(beam));
    }
    beams = std::move(next);
    for (Beam &beam : beams) {
      if (beam.done())
        continue;
      Status checked = checkReadable(model, beam.context.end(), beam.unread());
      if (!checked) {
        failure = checked.error();
        return true;
      }
      extensions.push_back({&beam.context, beam.unread(), 1});
      beam.read = beam.answer.tokens.size();
    }
    return true;
  }

  /// Takes the states of what step asked for, from the i-th on.
  void receive(const Forward &forward, int64_t &i) {
    for (Beam &beam : beams)
      if (!beam.done()) {
        const float *state = forward.state(i++);
        beam.state.assign(state, state + model.config().width);
      }
  }

  Answers finish() {
    if (failure)
      return *failure;
    std::vector<Answer> answers;
    for (Beam &beam : beams)
      answers.push_back(std::move(beam.answer));
    return answers;
  }

  std::optional<Error> failure;

private:
  const LanguageModel &model;
  int64_t width;
  std::vector<Beam> beams;
};

} // namespace

void tlm::writeBeams(const LanguageModel &model,
                     std::span<const DecodeRequest> requests, int64_t width,
                     std::span<Answers> results) {
  std::vector<AnswerStart> starts(requests.size());
  readSuffixes(model, requests, results, starts);
  std::vector<Search> searches;
  std::vector<size_t> which;
  for (size_t i = 0; i < requests.size(); ++i)
    if (results[i].ok()) {
      searches.emplace_back(model, starts[i], width);
      which.push_back(i);
    }

  Forward forward(model);
  std::vector<Extension> extensions;
  std::vector<Search *> active;
  while (true) {
    extensions.clear();
    active.clear();
    for (Search &search : searches) {
      size_t before = extensions.size();
      if (search.failure || !search.step(extensions))
        continue;
      if (search.failure)
        extensions.resize(before);
      else
        active.push_back(&search);
    }
    if (active.empty())
      break;
    forward.run(extensions);
    int64_t state = 0;
    for (Search *search : active)
      search->receive(forward, state);
  }
  for (size_t k = 0; k < which.size(); ++k)
    results[which[k]] = searches[k].finish();
}
