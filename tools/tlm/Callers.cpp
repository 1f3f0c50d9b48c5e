//===- Callers.cpp - parallel callers of one model ------------------------===//

#include "Callers.h"

#include <atomic>
#include <thread>

namespace tlm {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

} // namespace

Result<Callers> Callers::make(LoadedModel &model,
                              const std::vector<HostTensor> &inputs,
                              size_t count) {
  TLM_TRY_STATUS(model.reserveCallers(count));
  return Callers(model, inputs, count);
}

Status
Callers::inParallel(const std::function<Status(size_t caller)> &body) const {
  std::vector<Status> states(count(), success());
  std::vector<std::thread> threads;
  for (size_t caller = 1; caller < count(); ++caller)
    threads.emplace_back([&, caller] { states[caller] = body(caller); });
  states[0] = body(0);
  for (std::thread &thread : threads)
    thread.join();
  for (Status &state : states)
    TLM_TRY_STATUS(std::move(state));
  return success();
}

Result<Samples> Callers::run(const StopRule &rule) {
  std::atomic<int64_t> started{0};
  std::vector<std::vector<double>> ms(count());
  auto begin = Clock::now();
  TLM_TRY_STATUS(inParallel([&](size_t caller) -> Status {
    while (started.fetch_add(1) < rule.iterations ||
           secondsSince(begin) < rule.seconds) {
      auto start = Clock::now();
      TLM_TRY_STATUS(model->run(*inputs, outputs[caller], {}, caller));
      ms[caller].push_back(secondsSince(start) * 1e3);
    }
    return success();
  }));
  Samples samples;
  samples.seconds = secondsSince(begin);
  for (const std::vector<double> &mine : ms)
    samples.ms.insert(samples.ms.end(), mine.begin(), mine.end());
  return samples;
}

Status Callers::runTogether(int times, const std::vector<StepHook> &hooks,
                            const std::function<void(size_t caller)> &ended) {
  return inParallel([&](size_t caller) -> Status {
    for (int i = 0; i < times; ++i) {
      TLM_TRY_STATUS(
          model->run(*inputs, outputs[caller], hooks[caller], caller));
      ended(caller);
    }
    return success();
  });
}

} // namespace tlm
