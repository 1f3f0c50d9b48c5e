#include "measure/KernelTimer.h"

#include "lower/OperandData.h"

extern "C" {
#include "runtime/Pool.h"
}

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

using namespace tlm;
using Clock = std::chrono::steady_clock;

static double microsecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

struct KernelTimer::Memory {
  OperandData data;
  std::vector<AlignedFloats> copies;
  /// Per copy of the constants: the kernel's arguments, scratch included.
  std::vector<std::vector<void *>> arguments;
  AlignedFloats scratch, workers;
  int64_t workerBytes = 0;

  Memory(const Task &task, const Kernel &kernel, int threads,
         int64_t coldBytes);
};

KernelTimer::Memory::Memory(const Task &task, const Kernel &kernel, int threads,
                            int64_t coldBytes)
    : data(task, kernel, /*seed=*/7) {
  auto floatsOf = [&](size_t i) {
    return kernel.packings[i] ? kernel.packings[i]->elementCount()
                              : task.operands[i].type.elementCount();
  };
  int64_t constantBytes = 0;
  for (size_t i = 0; i < task.operands.size(); ++i)
    if (task.operands[i].isConstant)
      constantBytes += 4 * floatsOf(i);
  int64_t count = 1;
  if (constantBytes > 0)
    count = std::clamp<int64_t>(coldBytes / constantBytes, 1, 64);

  scratch = AlignedFloats(kernel.scratchBytes / 4, NAN);
  workerBytes = (kernel.workerScratchBytes + 63) / 64 * 64;
  workers = AlignedFloats(workerBytes / 4 * threads, NAN);
  for (int64_t copy = 0; copy < count; ++copy) {
    std::vector<void *> set;
    for (size_t i = 0; i < task.operands.size(); ++i) {
      float *operand = data.kernelOperands()[i];
      if (copy > 0 && task.operands[i].isConstant) {
        copies.emplace_back(floatsOf(i));
        std::copy_n(operand, floatsOf(i), copies.back().data());
        operand = copies.back().data();
      }
      set.push_back(operand);
    }
    set.push_back(scratch.data());
    arguments.push_back(std::move(set));
  }
}

KernelTimer::KernelTimer(const Task &task, const Kernel &kernel,
                         LoadedKernel &loaded, TlmPool *pool,
                         const TimingOptions &options)
    : kernel(kernel), loaded(loaded), pool(pool), options(options),
      memory(std::make_unique<Memory>(
          task, kernel, pool ? tlmPoolThreads(pool) : 1, options.coldBytes)) {}

KernelTimer::~KernelTimer() = default;

void KernelTimer::runOnce(size_t copy) {
  void *const *arguments = memory->arguments[copy].data();
  char *workers = reinterpret_cast<char *>(memory->workers.data());
  for (const LoadedKernel::StageEntry &stage : loaded.stageEntries()) {
    if (!pool) {
      stage.entry(arguments, workers, 0, stage.chunks);
      continue;
    }
    TlmRegion region = {
        stage.entry,         arguments,    workers,
        memory->workerBytes,
        /*firstChunk=*/0,    stage.chunks, kernel.maxParallelism};
    tlmPoolRun(pool, &region);
  }
}

Timing KernelTimer::time() {
  Timing timing;
  TlmPoolUse use = TLM_POOL_SERIAL;
  if (pool) {
    use = tlmPoolEnter(pool, tlmPoolThreads(pool));
    if (use != TLM_POOL_OWNED) {
      tlmPoolLeave(pool, use);
      return timing;
    }
  }
  uint32_t rounding = tlmDefaultRounding();
  size_t copies = memory->arguments.size(), copy = 0;
  auto sample = [&] {
    Clock::time_point begin = Clock::now();
    runOnce(copy);
    copy = (copy + 1) % copies;
    return microsecondsSince(begin);
  };
  Clock::time_point begin = Clock::now();
  double first = sample();
  if (options.cutOffMicroseconds > 0 && first > options.cutOffMicroseconds)
    first = sample(); // the first one also meets cold code and pages
  if (options.cutOffMicroseconds > 0 && first > options.cutOffMicroseconds) {
    timing = {first, first, 1, true};
  } else {
    while (microsecondsSince(begin) < options.warmupSeconds * 1e6)
      sample();
    std::vector<double> samples;
    begin = Clock::now();
    while (int32_t(samples.size()) < options.leastSamples ||
           (int32_t(samples.size()) < options.mostSamples &&
            microsecondsSince(begin) < options.seconds * 1e6))
      samples.push_back(sample());
    std::sort(samples.begin(), samples.end());
    timing = {samples.front(), samples[samples.size() / 2],
              int32_t(samples.size()), false};
  }
  tlmRestoreRounding(rounding);
  if (pool)
    tlmPoolLeave(pool, use);
  return timing;
}

double tlm::calibrationMicroseconds() {
  double best = INFINITY;
  for (int round = 0; round < 3; ++round) {
    Clock::time_point begin = Clock::now();
    double sums[16];
    std::fill(std::begin(sums), std::end(sums), 1.0);
    for (int step = 0; step < 4000; ++step)
      for (double &sum : sums)
        sum = sum * 0.999999 + 1e-6;
    // Keeps the loop.
    volatile double kept = sums[0];
    for (double sum : sums)
      kept = kept + sum;
    best = std::min(best, microsecondsSince(begin));
  }
  return best;
}
