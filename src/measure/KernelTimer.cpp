#include "measure/KernelTimer.h"

#include "lower/OperandData.h"
#include "records/Measurement.h"

extern "C" {
#include "runtime/Pool.h"
}

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace tlm;
using Clock = std::chrono::steady_clock;

/// Each with another placement of the stack and of the activations.
static constexpr size_t kBursts = 4;
/// After a burst that was not quiet: longer than a pool takes to forget that it
/// had to share its CPUs.
static constexpr std::chrono::milliseconds kPause{25};
/// Bytes of all activations that are placed anew for a burst.
static constexpr int64_t kMovedBytes = int64_t(4) << 20;

static double microsecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

namespace {

/// One piece of memory on huge pages, as the runtime's (Model.c): how pages
/// fall together in a cache is then no matter of luck.
class Arena {
public:
  /// Floats at the next line; none where `count` is 0.
  struct Place {
    int64_t offset = 0, count = 0;
  };
  Place reserve(int64_t count) {
    Place place = {bytes, count};
    bytes += (4 * count + kLine - 1) / kLine * kLine;
    return place;
  }
  /// After the last reserve().
  void allocate() {
    bytes =
        std::max((bytes + kHugePage - 1) / kHugePage * kHugePage, kHugePage);
    void *start = ::operator new(size_t(bytes), kAlignment);
    memory.reset(static_cast<char *>(start));
    madvise(start, size_t(bytes), MADV_HUGEPAGE); // advice: may be refused
  }
  float *at(const Place &place) const {
    if (place.count == 0)
      return nullptr;
    return reinterpret_cast<float *>(memory.get() + place.offset);
  }
  float *fill(const Place &place, float value) const {
    return std::fill_n(at(place), place.count, value), at(place);
  }
  float *copy(const Place &place, const float *from) const {
    return std::copy_n(from, place.count, at(place)), at(place);
  }

private:
  static constexpr int64_t kLine = 64, kHugePage = int64_t(2) << 20;
  static constexpr std::align_val_t kAlignment{kHugePage};
  struct Free {
    void operator()(char *start) const { ::operator delete(start, kAlignment); }
  };
  int64_t bytes = 0;
  std::unique_ptr<char, Free> memory;
};

} // namespace

struct KernelTimer::Memory {
  OperandData data;
  Arena arena;
  size_t copies = 1;         ///< of the constants
  size_t activationSets = 1; ///< of all other operands
  /// The kernel's arguments, scratch included: for each set, for each copy.
  std::vector<std::vector<void *>> arguments;
  float *workers = nullptr;
  int64_t workerBytes = 0;

  Memory(const Task &task, const Kernel &kernel, int threads,
         int64_t coldBytes);
};

KernelTimer::Memory::Memory(const Task &task, const Kernel &kernel, int threads,
                            int64_t coldBytes)
    : data(task, kernel, /*seed=*/7) {
  size_t operands = task.operands.size();
  auto floatsOf = [&](size_t i) {
    return kernel.packings[i] ? kernel.packings[i]->elementCount()
                              : task.operands[i].type.sizeBytes() / 4;
  };
  int64_t constantBytes = 0, activationBytes = 0;
  for (size_t i = 0; i < operands; ++i)
    (task.operands[i].isConstant ? constantBytes : activationBytes) +=
        4 * floatsOf(i);
  if (constantBytes > 0)
    copies = size_t(std::clamp<int64_t>(coldBytes / constantBytes, 1, 64));
  if (activationBytes <= kMovedBytes)
    activationSets = kBursts;

  using Places = std::vector<Arena::Place>;
  const Places none(operands);
  std::vector<Places> constants(copies, none),
      activations(activationSets, none);
  for (Places &places : activations)
    for (size_t i = 0; i < operands; ++i)
      if (!task.operands[i].isConstant)
        places[i] = arena.reserve(floatsOf(i));
  // Constants that are larger than all copies together stay where they are:
  // they may repeat a few pages (OperandData.h).
  if (constantBytes <= coldBytes)
    for (Places &places : constants)
      for (size_t i = 0; i < operands; ++i)
        if (task.operands[i].isConstant)
          places[i] = arena.reserve(floatsOf(i));
  Arena::Place scratch = arena.reserve(kernel.scratchBytes / 4);
  workerBytes = (kernel.workerScratchBytes + 63) / 64 * 64;
  Arena::Place worker = arena.reserve(workerBytes / 4 * threads);
  arena.allocate();
  workers = arena.fill(worker, NAN);
  arena.fill(scratch, NAN);
  auto put = [&](const Places &places) {
    for (size_t i = 0; i < operands; ++i)
      if (places[i].count > 0)
        arena.copy(places[i], data.kernelOperands()[i]);
  };
  std::for_each(activations.begin(), activations.end(), put);
  std::for_each(constants.begin(), constants.end(), put);
  for (const Places &activation : activations)
    for (const Places &constant : constants) {
      std::vector<void *> set;
      for (size_t i = 0; i < operands; ++i) {
        const Arena::Place &place =
            (task.operands[i].isConstant ? constant : activation)[i];
        set.push_back(place.count > 0 ? arena.at(place)
                                      : data.kernelOperands()[i]);
      }
      set.push_back(arena.at(scratch));
      arguments.push_back(std::move(set));
    }
}

namespace {

/// A stage that runs with its stack at a chosen place of a page. Where the
/// stack lies decides which of its lines collide with which operands' in the
/// first cache: a kernel that keeps accumulators there was 1.5x slower at one
/// place of eight.
struct PlacedStage {
  LoadedKernel::Entry entry;
  void *const *arguments;
  uintptr_t stackPlace;

  static void run(void *const *self, void *scratch, int64_t begin,
                  int64_t end) {
    constexpr uintptr_t kPage = 4096;
    auto *stage = reinterpret_cast<const PlacedStage *>(self);
    auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    // At least one byte: the compiler keeps the frame.
    size_t shift = (here - stage->stackPlace) % kPage + 1;
    auto *room = static_cast<volatile char *>(__builtin_alloca(shift));
    room[0] = 0;
    stage->entry(stage->arguments, scratch, begin, end);
    room[0] = 1;
  }
};

} // namespace

KernelTimer::KernelTimer(const Task &task, const Kernel &kernel,
                         LoadedKernel &loaded, TlmPool *pool,
                         const TimingOptions &options)
    : kernel(kernel), loaded(loaded), pool(pool), options(options),
      memory(std::make_unique<Memory>(
          task, kernel, pool ? tlmPoolThreads(pool) : 1, options.coldBytes)) {}

KernelTimer::~KernelTimer() = default;

void KernelTimer::runOnce() {
  size_t set = placement % memory->activationSets;
  size_t copies = memory->copies;
  void *const *arguments = memory->arguments[set * copies + copy].data();
  copy = (copy + 1) % copies;
  char *workers = reinterpret_cast<char *>(memory->workers);
  for (const LoadedKernel::StageEntry &entry : loaded.stageEntries()) {
    PlacedStage stage = {entry.entry, arguments,
                         placement * (4096 / kBursts + 64)};
    auto *self = reinterpret_cast<void *const *>(&stage);
    if (!pool) {
      PlacedStage::run(self, workers, 0, entry.chunks);
      continue;
    }
    TlmRegion region = {
        PlacedStage::run,    self,         workers,
        memory->workerBytes,
        /*firstChunk=*/0,    entry.chunks, kernel.maxParallelism};
    tlmPoolRun(pool, &region);
  }
}

double KernelTimer::sample() {
  Clock::time_point begin = Clock::now();
  runOnce();
  return microsecondsSince(begin);
}

/// Samples of one placement, and the slowdown around them.
struct KernelTimer::Burst {
  std::vector<double> samples; ///< sorted
  double slowdown = 1;

  /// The lower quartile: a few samples are faster than all others by chance.
  double quartile() const { return samples[samples.size() / 4]; }
};

// Those of a quiet machine count; where they are few, all do, as loud ones.
static Timing summary(std::vector<KernelTimer::Burst> bursts) {
  auto isLoud = [](const KernelTimer::Burst &burst) {
    return burst.slowdown > kDrift;
  };
  auto loud = std::count_if(bursts.begin(), bursts.end(), isLoud);
  if (size_t quiet = bursts.size() - size_t(loud); 2 * quiet >= kBursts)
    std::erase_if(bursts, isLoud);
  else
    std::erase_if(bursts, std::not_fn(isLoud));
  Timing timing;
  std::vector<double> samples;
  timing.minMicroseconds = timing.slowdown = INFINITY;
  for (const KernelTimer::Burst &burst : bursts) {
    samples.insert(samples.end(), burst.samples.begin(), burst.samples.end());
    timing.minMicroseconds = std::min(timing.minMicroseconds, burst.quartile());
    timing.slowdown = std::min(timing.slowdown, burst.slowdown);
  }
  std::sort(samples.begin(), samples.end());
  timing.medianMicroseconds = samples[samples.size() / 2];
  timing.samples = int32_t(samples.size());
  return timing;
}

namespace {

/// The pool, entered; does nothing where there is none.
class Entered {
public:
  explicit Entered(TlmPool *pool) : pool(pool) {
    if (pool)
      use = tlmPoolEnter(pool, tlmPoolThreads(pool));
  }
  ~Entered() {
    if (pool)
      tlmPoolLeave(pool, use);
  }
  Entered(const Entered &) = delete;
  Entered &operator=(const Entered &) = delete;
  bool isOwned() const { return !pool || use == TLM_POOL_OWNED; }

private:
  TlmPool *pool;
  TlmPoolUse use = TLM_POOL_OWNED;
};

} // namespace

KernelTimer::Burst KernelTimer::takeBurst(Calibration &calibration) {
  Burst burst;
  Entered entered(pool);
  auto isShort = [&](int32_t wanted) {
    return int32_t(burst.samples.size() * kBursts) < wanted;
  };
  double before = calibration.slowdown(pool);
  sample(); // of this placement, the first one meets cold lines
  Clock::time_point begin = Clock::now();
  while (isShort(options.leastSamples) ||
         (isShort(options.mostSamples) &&
          microsecondsSince(begin) < options.seconds * 1e6 / kBursts))
    burst.samples.push_back(sample());
  bool isContended = pool && tlmPoolIsContended(pool);
  std::sort(burst.samples.begin(), burst.samples.end());
  burst.slowdown = std::max(before, calibration.slowdown(pool));
  // Slower by how much, nobody knows; a little, at least.
  if (isContended)
    burst.slowdown = std::max(burst.slowdown, 1.01 * kDrift);
  return burst;
}

// A placement that had its quiet burst makes room for the next one.
Timing KernelTimer::takeBursts(Calibration &calibration) {
  std::vector<Burst> bursts;
  Clock::time_point begin = Clock::now();
  size_t quiet = 0;
  while (bursts.size() < kBursts ||
         (quiet < kBursts &&
          microsecondsSince(begin) < options.mostSeconds * 1e6)) {
    if (quiet < bursts.size())
      std::this_thread::sleep_for(kPause);
    bursts.push_back(takeBurst(calibration));
    quiet += bursts.back().slowdown <= kDrift;
    placement = quiet;
  }
  return summary(std::move(bursts));
}

Timing KernelTimer::time(Calibration &calibration) {
  uint32_t rounding = tlmDefaultRounding();
  Timing timing;
  Clock::time_point begin = Clock::now();
  {
    Entered entered(pool);
    if (!entered.isOwned())
      return timing;
    double first = sample();
    if (options.cutOffMicroseconds > 0 && first > options.cutOffMicroseconds)
      first = sample(); // the first one also meets cold code and pages
    if (options.cutOffMicroseconds > 0 && first > options.cutOffMicroseconds)
      timing = {first, first, 1, true, calibration.slowdown(pool)};
    while (!timing.cutOff &&
           microsecondsSince(begin) < options.warmupSeconds * 1e6)
      sample();
  }
  if (!timing.cutOff)
    timing = takeBursts(calibration);
  tlmRestoreRounding(rounding);
  return timing;
}
