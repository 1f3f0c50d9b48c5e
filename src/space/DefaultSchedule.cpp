#include "space/DefaultSchedule.h"

#include "space/DefaultRules.h"
#include "space/rules/Choices.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace tlm;

int64_t tlm::largestDivisor(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t d : divisors(n))
    if (d <= most)
      best = d;
  return best;
}

int64_t tlm::usefulWorkers(const Target &target, double microseconds) {
  return std::clamp<int64_t>(int64_t(microseconds / 1.5), 1, target.threads);
}

double tlm::estimateMicroseconds(const Task &task, const Target &target) {
  double flopsPerNs = 4.0 * double(target.vectorFloats()) * 4.0;
  double bytesPerNs = 80.0;
  return std::max(task.flops() / flopsPerNs, task.bytes() / bytesPerNs) / 1e3;
}

double tlm::imbalance(int64_t chunks, int64_t workers) {
  int64_t rounds = (chunks + workers - 1) / workers;
  return double(rounds * workers) / double(chunks);
}

int64_t tlm::stripes(const Task &task, const Target &target) {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  if (in.dims.size() != 4 || in.dims[0] != 1 ||
      std::max(in.sizeBytes(), out.sizeBytes()) < target.stripedBytes())
    return 1;
  return (in.sizeBytes() + out.sizeBytes()) / (target.l2Bytes / 4) + 1;
}

int64_t tlm::pickChunks(int64_t extent, int64_t workers, int64_t least,
                        double microseconds) {
  int64_t best = 1;
  double bestScore = INFINITY;
  int64_t perWorker =
      std::clamp<int64_t>(int64_t(microseconds / double(workers) / 10.0), 1, 4);
  int64_t wanted = std::max(least, workers > 1 ? perWorker * workers : 1);
  for (int64_t d : divisors(extent)) {
    double distance = std::abs(std::log2(double(d) / double(wanted)));
    double score = 10.0 * (imbalance(d, workers) - 1.0) + 0.1 * distance;
    if (score < bestScore) {
      bestScore = score;
      best = d;
    }
  }
  return best;
}

static void scheduleWindow(const Task &task, const Target &target,
                           Schedule &schedule) {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  int64_t height = out.dims[2];
  double time = estimateMicroseconds(task, target);
  int64_t workers = usefulWorkers(target, time);
  // No channel meets another: only chains need short chunks, and every cut
  // reads the rows of the window around it twice.
  int64_t least = stripes(task, target);
  int64_t rowChunks = pickChunks(height, workers, least, time);
  // Short images: cut the channels instead, a cache line each at least.
  int64_t blocks = in.channelStride / target.vectorFloats(), blockChunks = 1;
  if (imbalance(rowChunks * in.dims[0], workers) > 1.1) {
    rowChunks = pickChunks(height, 1, least, time);
    blockChunks = pickChunks(blocks, workers, 1, time);
  }
  int64_t chunkRows = height / rowChunks;
  // Seven outputs of a row keep nine weights and their sums in 32 registers;
  // 4x4 tiles load less, which shows where there are few channel blocks.
  int64_t tileH = 1, tileW = target.vectorRegisters >= 32 ? 7 : 4;
  const Window &window = task.windows[0];
  if (task.kind == TaskKind::Depthwise && window.kernel == 3 &&
      window.stride == 1 && blocks <= 4 && chunkRows % 4 == 0 &&
      out.dims[3] % 4 == 0 && target.vectorRegisters >= 32)
    tileH = tileW = 4;
  schedule.set(Decision::RegisterTile, "h", tileH);
  schedule.set(Decision::RegisterTile, "w", tileW);
  // A panel reads one cache line a pixel. Where lines fall into few sets of L1,
  // runs of four lines are read row by row; what is beyond L2 is read in the
  // order of memory.
  LoopOrder order = LoopOrder::PanelsOuter;
  int64_t chunkBytes = (in.sizeBytes() + out.sizeBytes()) /
                       (in.dims[0] * rowChunks * blockChunks);
  if (chunkBytes > target.l2Bytes) {
    order = LoopOrder::PixelsOuter;
  } else if (in.channelStride * 4 % 512 == 0) {
    order = LoopOrder::RowsOuter;
    blockChunks = std::max(blockChunks, blocks / largestDivisor(blocks, 4));
  }
  schedule.set(Decision::ParallelTile, "c", blocks / blockChunks);
  schedule.set(Decision::LoopOrder, "", int64_t(order));
  schedule.set(Decision::ParallelTile, "rows", height / rowChunks);
  schedule.set(Decision::MaxParallelism, "", workers);
}

// Rows of the last dim, a block of them a chunk.
static void scheduleRows(const Task &task, const Target &target,
                         Schedule &schedule) {
  const BufferType &type = task.find(Role::Input)->type;
  int64_t rows = type.elementCount() / type.dims.back();
  double time = estimateMicroseconds(task, target);
  int64_t workers = usefulWorkers(target, time);
  schedule.set(Decision::ParallelTile, "rows",
               rows / pickChunks(rows, workers, 1, time));
  schedule.set(Decision::Accumulators, "", 4);
  schedule.set(Decision::MaxParallelism, "", workers);
}

// Blocks of query rows: small enough that scores and result stay in half of L2,
// large enough that K and V are read by several register tiles.
static void scheduleAttention(const Task &task, const Target &target,
                              Schedule &schedule) {
  const std::vector<int64_t> &q = task.operands[0].type.dims;
  const std::vector<int64_t> &k = task.operands[1].type.dims;
  int64_t rows = q[q.size() - 2], keys = k[k.size() - 2];
  int64_t depth = task.output().type.dims[2] / task.attention.heads;
  int64_t fits = target.l2Bytes / 8 / std::max<int64_t>(1, keys + 2 * depth);
  int64_t block = largestDivisor(rows, std::clamp<int64_t>(fits, 8, 64));
  if (block < 8) // a prime number of rows: one block
    block = rows;
  schedule.set(Decision::ParallelTile, "rows", block);
  schedule.set(Decision::RegisterTile, "w",
               target.vectorRegisters >= 32 ? 8 : 6);
  schedule.set(Decision::RegisterRow, "keys", 2);
  schedule.set(Decision::RegisterRow, "f",
               largestDivisor((depth + target.vectorFloats() - 1) /
                                  target.vectorFloats(),
                              2));
  schedule.set(Decision::MaxParallelism, "",
               usefulWorkers(target, estimateMicroseconds(task, target)));
}

// Copies and pointwise tasks.
static void scheduleMove(const Task &task, const Target &target,
                         Schedule &schedule) {
  const BufferType &in = task.find(Role::Input)->type;
  double time = estimateMicroseconds(task, target);
  int64_t workers = usefulWorkers(target, time);
  bool isImage =
      in.layout == Layout::Nhwc || task.output().type.layout == Layout::Nhwc;
  int64_t rows = task.kind == TaskKind::Pointwise || isImage
                     ? task.output().type.dims[2]
                     : in.dims[1] * in.dims[2];
  schedule.set(Decision::ParallelTile, "rows",
               rows / pickChunks(rows, workers, 1, time));
  schedule.set(Decision::MaxParallelism, "", workers);
}

Schedule tlm::plainSchedule(const Task &task) {
  Schedule schedule;
  schedule.taskKey = task.key();
  schedule.set(Decision::Algorithm, "", int64_t(Algorithm::Plain));
  return schedule;
}

// The values wished for.
static Schedule wishes(const Task &task, const Target &target,
                       const Space &space) {
  Schedule schedule;
  bool plainOnly = !space.offers(Algorithm::Direct) &&
                   !space.offers(Algorithm::WinogradBlocked) &&
                   !space.offers(Algorithm::WinogradStaged);
  if (plainOnly)
    return schedule;
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::MatMul:
  case TaskKind::BatchMatMul:
    if (!scheduleWinograd(task, target, space, schedule) &&
        space.offers(Algorithm::Direct) &&
        !scheduleDirect(task, target, schedule))
      schedule.set(Decision::Algorithm, "", int64_t(Algorithm::Plain));
    break;
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    scheduleWindow(task, target, schedule);
    break;
  case TaskKind::Softmax:
  case TaskKind::Normalize:
    scheduleRows(task, target, schedule);
    break;
  case TaskKind::Attention:
    scheduleAttention(task, target, schedule);
    break;
  case TaskKind::GlobalPool:
    schedule.set(Decision::RegisterRow, "c", 4);
    schedule.set(Decision::MaxParallelism, "",
                 usefulWorkers(target, estimateMicroseconds(task, target)));
    break;
  case TaskKind::Copy:
  case TaskKind::Pointwise:
    scheduleMove(task, target, schedule);
    break;
  default:
    schedule.set(Decision::MaxParallelism, "",
                 usefulWorkers(target, estimateMicroseconds(task, target)));
    break;
  }
  return schedule;
}

int64_t tlm::nearestBelow(std::span<const int64_t> choices, int64_t wish) {
  int64_t nearest = choices.front();
  for (int64_t choice : choices)
    if (choice <= wish && (choice > nearest || nearest > wish))
      nearest = choice;
  return nearest;
}

Schedule tlm::defaultSchedule(const Task &task, const Target &target,
                              const ScheduleOptions &options) {
  Space space(task, target, options);
  Schedule wanted = wishes(task, target, space);
  return space.write([&](const DecisionPoint &point) {
    return nearestBelow(point.choices, wanted.get(point.decision, point.subject,
                                                  point.choices.front()));
  });
}
