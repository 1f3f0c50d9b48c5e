#include "lower/KernelCheck.h"

#include "base/NumberText.h"
#include "lower/KernelTolerance.h"
#include "lower/OperandData.h"
#include "lower/Text.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

using namespace tlm;

namespace {

using Index = std::vector<int64_t>;

/// Every point is compared when that takes no more products than this; a point
/// costs at least as much as kPointWork of them.
constexpr int64_t kSmallWork = 1 << 20, kPointWork = 64;
constexpr int64_t kSampledPoints = 256;
constexpr int64_t kMemoryBytes = int64_t(256) << 20;

/// What the output holds before the run: NaNs that no kernel makes.
constexpr uint32_t kUnwritten = 0x7fc5a5a5, kOutside = 0x7fcbadad;

int64_t workPerPoint(const Task &task) {
  const Index &out = task.output().type.dims;
  const Index &in = task.operands.front().type.dims;
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MatMul:
    return task.find(Role::Weight)->type.elementCount() / out[1];
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return task.windows[0].kernel * task.windows[1].kernel;
  case TaskKind::GlobalPool:
    return in[2] * in[3];
  case TaskKind::Softmax:
  case TaskKind::Normalize:
    return out.back();
  case TaskKind::BatchMatMul:
    return in[2];
  case TaskKind::Compute: {
    const Index &steps = task.computation.reductions;
    return std::accumulate(steps.begin(), steps.end(),
                           16 * int64_t(task.computation.nodes.size()),
                           std::multiplies<>());
  }
  case TaskKind::Attention:
    return 2 * task.operands[1].type.elementCount() / in[0];
  default:
    return 1;
  }
}

Index indexOf(int64_t number, const Index &dims) {
  Index index(dims.size(), 0);
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = number % dims[d];
    number /= dims[d];
  }
  return index;
}

/// All points, or the corners, points on edges and random ones.
std::vector<Index> pointsOf(const Task &task) {
  const Index &dims = task.output().type.dims;
  int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<Index> points;
  int64_t work = std::max(kPointWork, workPerPoint(task));
  if (count <= kSampledPoints || count <= kSmallWork / work) {
    for (int64_t i = 0; i < count; ++i)
      points.push_back(indexOf(i, dims));
    return points;
  }
  std::mt19937_64 random(11);
  for (int64_t corner = 0;
       corner < (int64_t(1) << std::min<size_t>(dims.size(), 4)); ++corner) {
    Index index;
    for (size_t d = 0; d < dims.size(); ++d)
      index.push_back(d < 4 && (corner >> d & 1) ? dims[d] - 1 : 0);
    points.push_back(index);
  }
  while (int64_t(points.size()) < kSampledPoints) {
    bool onEdge = points.size() < kSampledPoints / 2;
    Index index;
    for (int64_t extent : dims) {
      int64_t edges[] = {0, std::min<int64_t>(1, extent - 1),
                         std::max<int64_t>(0, extent - 2), extent - 1};
      bool edge = onEdge && random() % 2;
      index.push_back(edge ? edges[random() % 4]
                           : int64_t(random() % uint64_t(extent)));
    }
    points.push_back(std::move(index));
  }
  return points;
}

/// Marks the output before a run and looks at what is around it afterwards.
class OutputGuard {
public:
  OutputGuard(const BufferType &type, AlignedFloats &memory)
      : type(type), memory(memory), strides(type.strides()) {
    for (int64_t i = 0; i < memory.size(); ++i)
      memory[i] = std::bit_cast<float>(kOutside);
    forEachPixel([&](int64_t offset, int64_t lanes) {
      std::fill_n(memory.data() + offset, lanes,
                  std::bit_cast<float>(kUnwritten));
      return true;
    });
  }

  int64_t offsetOf(const Index &index) const {
    int64_t offset = type.origin();
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * strides[d];
    return offset;
  }

  /// What is wrong apart from the values, or empty.
  std::string wrong() const {
    std::string found;
    int64_t inside = 0;
    bool lanesBehind = type.layout == Layout::Nhwc;
    forEachPixel([&](int64_t offset, int64_t lanes) {
      inside += lanes;
      for (int64_t lane = 0; lane < lanes && found.empty(); ++lane) {
        uint32_t bits = std::bit_cast<uint32_t>(memory[offset + lane]);
        if (bits == kUnwritten)
          found = cat("nothing was written at element ", offset + lane,
                      " of the output");
        else if (lanesBehind && lane >= type.dims[1] &&
                 !std::isfinite(memory[offset + lane]))
          found = cat("element ", offset + lane,
                      ", behind the channels, is not finite");
      }
      return found.empty();
    });
    if (!found.empty())
      return found;
    int64_t untouched = 0;
    for (int64_t i = 0; i < memory.size(); ++i)
      untouched += std::bit_cast<uint32_t>(memory[i]) == kOutside;
    if (untouched + inside != memory.size())
      return cat(memory.size() - inside - untouched,
                 " elements of the output's border were written");
    return {};
  }

private:
  /// Calls body(offset, lanes) for contiguous pieces of the interior, while it
  /// returns true.
  template <typename Body>
  void forEachPixel(Body body) const {
    if (type.dims.size() != 4) {
      body(0, type.elementCount());
      return;
    }
    bool channelsLast = type.layout == Layout::Nhwc;
    int64_t planes = channelsLast ? 1 : type.dims[1];
    int64_t columns = channelsLast ? type.dims[3] : 1;
    int64_t lanes = channelsLast ? type.channelStride : type.dims[3];
    for (int64_t n = 0; n < type.dims[0]; ++n)
      for (int64_t c = 0; c < planes; ++c)
        for (int64_t h = 0; h < type.dims[2]; ++h)
          for (int64_t w = 0; w < columns; ++w)
            if (!body(offsetOf({n, c, h, w}), lanes))
              return;
  }

  const BufferType &type;
  AlignedFloats &memory;
  Index strides;
};

/// Bytes that several threads share; a wish for more than all waits for all.
class MemoryBudget {
public:
  void take(int64_t bytes) {
    std::unique_lock lock(mutex);
    changed.wait(lock,
                 [&] { return used == 0 || used + bytes <= kMemoryBytes; });
    used += bytes;
  }
  void give(int64_t bytes) {
    std::lock_guard lock(mutex);
    used -= bytes;
    changed.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  int64_t used = 0;
};

} // namespace

/// The largest accumulator of a convolution among all outputs, relative to that
/// among `points` of them: sums of many terms are normally distributed. Errors
/// are stated of the former.
static double largestOfAll(size_t points, const std::vector<int64_t> &dims) {
  double all = 1;
  for (int64_t dim : dims)
    all *= double(dim);
  double some = std::clamp(double(points), 2.0, std::max(2.0, all));
  return std::sqrt(std::log(std::max(2.0, all)) / std::log(some));
}

KernelVerdict tlm::checkKernel(const Task &task, const Kernel &kernel,
                               LoadedKernel &loaded) {
  if (!canEvaluate(task))
    return {};
  OperandData data(task, kernel, /*seed=*/7);
  OutputGuard guard(task.output().type, data.output());
  loaded.runBackwards(data.kernelOperands());

  KernelVerdict verdict;
  verdict.wrong = guard.wrong();
  Evaluator evaluator(task, data.taskOperands());
  std::vector<Index> points = pointsOf(task);
  std::vector<PointTrace> traces;
  double largest = 0;
  for (const Index &point : points) {
    traces.push_back(evaluator.trace(point));
    largest = std::max(largest, std::abs(double(traces.back().accumulator)));
  }
  if (task.kind == TaskKind::Conv)
    largest *= largestOfAll(points.size(), task.output().type.dims);
  for (size_t i = 0; i < points.size() && verdict.wrong.empty(); ++i) {
    float got = data.output()[guard.offsetOf(points[i])];
    float expected = traces[i].value();
    double tolerance = outputTolerance(
        task, traces[i],
        accumulatorTolerance(task, kernel, traces[i].accumulator, largest));
    ++verdict.points;
    bool same = got == expected || (std::isnan(got) && std::isnan(expected)) ||
                std::abs(double(got) - double(expected)) <= tolerance ||
                std::isinf(tolerance);
    if (!same)
      verdict.wrong = cat("point [", join(points[i], ","), "] is ",
                          floatText(got), ", expected ", floatText(expected),
                          " (tolerance ", floatText(float(tolerance)), ")");
  }
  return verdict;
}

Result<std::vector<KernelVerdict>>
tlm::checkKernels(const std::vector<KernelToCheck> &kernels, int64_t jobs) {
  std::vector<const Kernel *> toLoad;
  for (const KernelToCheck &each : kernels)
    toLoad.push_back(each.kernel);
  TLM_TRY(std::vector<LoadedKernel> loaded, LoadedKernel::loadAll(toLoad));

  // The long ones first.
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return kernels[a].task->flops() > kernels[b].task->flops();
  });
  std::vector<KernelVerdict> verdicts(kernels.size());
  std::atomic<size_t> next{0};
  MemoryBudget budget;
  auto work = [&] {
    for (size_t i; (i = next++) < order.size();) {
      const KernelToCheck &each = kernels[order[i]];
      int64_t bytes = OperandData::sizeBytes(*each.task, *each.kernel);
      budget.take(bytes);
      {
        LoadedKernel kernel = std::move(loaded[order[i]]);
        verdicts[order[i]] = checkKernel(*each.task, *each.kernel, kernel);
      }
      budget.give(bytes);
    }
  };
  std::vector<std::thread> workers;
  jobs = std::min<int64_t>(jobs, int64_t(kernels.size()));
  for (int64_t i = 1; i < jobs; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  return verdicts;
}
