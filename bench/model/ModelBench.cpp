//===- ModelBench.cpp - what writing the schedules of a network costs -----===//
//
// usage: tlm-model-bench [LAYERS WIDTH HEADS TASKS PROMPT SHARED ANSWER SAMPLES
//                         THREADS]
//
// Random weights; TASKS prompts of PROMPT tokens, the first SHARED of which are
// the same, and answers of ANSWER tokens of 20 choices each. One line a phase,
// the best of five runs.
//
//===----------------------------------------------------------------------===//

#include "model/Inference.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tlm;

namespace {

struct FixedCursor {
  explicit FixedCursor(int64_t left) : left(left) {
    for (int32_t token = 0; token < 20; ++token)
      choices.push_back(3 * token);
  }
  bool done() const { return left == 0; }
  std::span<const int32_t> allowed() const { return choices; }
  void take(int32_t) { --left; }
  int64_t left;
  std::vector<int32_t> choices;
};

template <typename Body>
double bestMs(const Body &body) {
  double best = 1e30;
  for (int run = 0; run < 5; ++run) {
    auto begin = std::chrono::steady_clock::now();
    body();
    std::chrono::duration<double, std::milli> ms =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, ms.count());
  }
  return best;
}

} // namespace

int main(int argc, char **argv) {
  int64_t numbers[] = {6, 256, 8, 25, 120, 30, 12, 1, 2};
  for (int i = 1; i < argc && i <= 9; ++i)
    numbers[i - 1] = std::atoll(argv[i]);
  auto [layers, width, heads, tasks, prompt, shared, answer, samples, threads] =
      numbers;
  ModelConfig config;
  config.layers = layers;
  config.width = width;
  config.heads = heads;
  config.positions = 512;
  config.vocabulary = 1000;
  if (std::string bad = config.verify(); !bad.empty()) {
    std::fprintf(stderr, "%s\n", bad.c_str());
    return 2;
  }
  GptParameters parameters = randomParameters(config, 1);
  for (const Kernels *const *k = supportedKernels(); *k; ++k) {
    if (*k == &kPortableKernels)
      break;
    LanguageModel model(config, parameters, *k);
    std::vector<Tokens> prompts;
    for (int64_t task = 0; task < tasks; ++task) {
      Tokens tokens;
      for (int64_t i = 0; i < prompt; ++i)
        tokens.push_back(int32_t((i < shared ? i : i * task + 7) % 1000));
      prompts.push_back(tokens);
    }
    Inference inference(model, int(threads));
    std::vector<Result<ContextRef>> contexts;
    double readMs = bestMs([&] { contexts = inference.read(prompts); });
    std::vector<DecodeRequest> requests;
    std::vector<JudgeRequest> judged;
    for (const Result<ContextRef> &context : contexts) {
      requests.push_back({*context, {1, 2}, maskOf(FixedCursor(answer)), 0});
      for (int64_t i = 0; i < samples; ++i)
        judged.push_back({*context, Tokens(size_t(answer) + 3, 5)});
    }
    DecodeOptions options;
    if (samples > 1)
      options = {DecodeMethod::Sample, samples, 1, 1};
    double decodeMs = bestMs([&] { inference.decode(requests, options); });
    std::vector<int32_t> asked = {1, 2, 3, 4, 5, 6, 7, 8};
    double judgeMs = bestMs([&] { inference.judge(judged, asked); });
    std::printf("%s: %lld parameters, %lld threads: read %.1f ms, decode %.1f "
                "ms, judge %.1f ms\n",
                (*k)->name, static_cast<long long>(config.parameters()),
                static_cast<long long>(threads), readMs, decodeMs, judgeMs);
  }
  return 0;
}
