#include "model/Inference.h"

#include "model/AnswerWriter.h"
#include "model/Distribution.h"
#include "model/Forward.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace tlm;

namespace {

/// Rows of one pass: enough that a weight is used often while it is in the
/// cache, and few enough that what is between the layers stays in L2.
constexpr int64_t kPassRows = 96;
/// A shared beginning shorter than this is not worth a pass of its own.
constexpr size_t kSharedTokens = 8;
/// Answers that are written together; more would only take memory.
constexpr int64_t kLanesTogether = 64;

size_t commonLength(std::span<const Tokens> prompts) {
  if (prompts.size() < 2)
    return 0;
  size_t length = prompts[0].size();
  for (const Tokens &prompt : prompts) {
    length = std::min(length, prompt.size());
    length = size_t(std::mismatch(prompt.begin(), prompt.begin() + length,
                                  prompts[0].begin())
                        .first -
                    prompt.begin());
  }
  return length < kSharedTokens ? 0 : length;
}

} // namespace

void Inference::inGroups(
    int64_t count, int64_t most,
    const std::function<void(int64_t, int64_t)> &body) const {
  int64_t groups =
      std::min(count, std::max<int64_t>(threads, (count + most - 1) / most));
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t g; (g = next++) < groups;)
      body(count * g / groups, count * (g + 1) / groups);
  };
  std::vector<std::thread> team;
  for (int64_t i = 1; i < std::min<int64_t>(threads, groups); ++i)
    team.emplace_back(work);
  work();
  for (std::thread &thread : team)
    thread.join();
}

Status Inference::check(const ContextRef &context,
                        std::span<const int32_t> tokens) const {
  return checkReadable(model, context ? context->end() : 0, tokens);
}

std::vector<Result<ContextRef>>
Inference::read(std::span<const Tokens> prompts) const {
  std::vector<Result<ContextRef>> contexts;
  std::vector<Tokens> readable;
  for (const Tokens &prompt : prompts) {
    Status checked = check(nullptr, prompt);
    if (checked.ok()) {
      contexts.emplace_back(ContextRef());
      readable.push_back(prompt);
    } else {
      contexts.emplace_back(checked.error());
    }
  }
  size_t shared = commonLength(readable);
  auto extend = [&](const ContextRef &parent, std::span<const int32_t> tokens,
                    Forward &forward) {
    auto context = std::make_shared<Context>(model.config(), parent,
                                             int64_t(tokens.size()));
    Extension extension{context.get(), tokens, 0};
    forward.run({&extension, 1});
    return context;
  };
  ContextRef beginning;
  if (shared > 0) {
    Forward forward(model);
    beginning = extend(nullptr, std::span(readable[0]).first(shared), forward);
  }

  // Prompts differ in length: one at a time goes to whoever is free.
  inGroups(int64_t(prompts.size()), 1, [&](int64_t begin, int64_t end) {
    Forward forward(model);
    for (int64_t i = begin; i < end; ++i) {
      Result<ContextRef> &context = contexts[size_t(i)];
      std::span<const int32_t> prompt = prompts[size_t(i)];
      if (context.ok())
        *context = extend(beginning, prompt.subspan(shared), forward);
    }
  });
  return contexts;
}

std::vector<Answers> Inference::decode(std::span<const DecodeRequest> requests,
                                       const DecodeOptions &options) const {
  std::vector<Answers> results;
  results.reserve(requests.size());
  for (const DecodeRequest &request : requests) {
    TLM_CHECK(!request.suffix.empty() && request.mask) << "incomplete request";
    Status checked = check(request.context, request.suffix);
    if (checked.ok())
      results.emplace_back(std::vector<Answer>());
    else
      results.emplace_back(checked.error());
  }
  bool beam = options.method == DecodeMethod::Beam;
  int64_t each = options.method == DecodeMethod::Greedy ? 1 : options.answers;
  auto most =
      beam ? std::max<int64_t>(1, kLanesTogether / std::max<int64_t>(1, each))
           : kLanesTogether;
  if (beam) {
    inGroups(int64_t(requests.size()), most, [&](int64_t begin, int64_t end) {
      writeBeams(model, requests.subspan(begin, end - begin), each,
                 std::span(results).subspan(begin, end - begin));
    });
    return results;
  }

  // First what the answers of a request share, then every answer as a lane.
  std::vector<AnswerStart> starts(requests.size());
  inGroups(int64_t(requests.size()), kPassRows / 4,
           [&](int64_t begin, int64_t end) {
             readSuffixes(model, requests.subspan(begin, end - begin),
                          std::span(results).subspan(begin, end - begin),
                          std::span(starts).subspan(begin, end - begin));
           });
  std::vector<AnswerLane> lanes;
  for (size_t i = 0; i < requests.size(); ++i)
    for (int64_t k = 0; k < each && results[i].ok(); ++k)
      lanes.push_back({&starts[i], i, requests[i].stream, uint64_t(k),
                       starts[i].answer, std::nullopt});
  inGroups(int64_t(lanes.size()), most, [&](int64_t begin, int64_t end) {
    writeAnswers(model, std::span(lanes).subspan(begin, end - begin), options);
  });
  for (AnswerLane &lane : lanes) {
    Answers &answers = results[lane.request];
    if (lane.failure)
      answers = *lane.failure;
    else if (answers.ok())
      answers->push_back(std::move(lane.answer));
  }
  return results;
}

std::vector<std::vector<float>>
Inference::judge(std::span<const JudgeRequest> requests,
                 std::span<const int32_t> asked) const {
  std::vector<std::vector<float>> results(requests.size());
  int64_t longest = 1;
  for (const JudgeRequest &request : requests) {
    TLM_CHECK(!request.tokens.empty()) << "nothing to judge";
    longest = std::max(longest, int64_t(request.tokens.size()));
  }
  int64_t most = std::max<int64_t>(1, kPassRows / longest);
  inGroups(int64_t(requests.size()), most, [&](int64_t begin, int64_t end) {
    std::vector<Context> contexts;
    std::vector<Extension> extensions;
    std::vector<int64_t> which;
    contexts.reserve(size_t(end - begin)); // extensions point to them
    for (int64_t i = begin; i < end; ++i) {
      const JudgeRequest &request = requests[size_t(i)];
      if (!check(request.context, request.tokens).ok())
        continue;
      contexts.emplace_back(model.config(), request.context,
                            int64_t(request.tokens.size()));
      extensions.push_back({&contexts.back(), request.tokens, 1});
      which.push_back(i);
    }
    Forward forward(model);
    forward.run(extensions);
    for (size_t k = 0; k < which.size(); ++k)
      results[size_t(which[k])] =
          Distribution(model, forward.state(int64_t(k)), asked).probabilities();
  });
  return results;
}
