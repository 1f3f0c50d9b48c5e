#include "space/DefaultSchedule.h"

#include "space/ContractionShape.h"
#include "space/rules/Choices.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace tlm;

static int64_t largestDivisor(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t d : divisors(n))
    if (d <= most)
      best = d;
  return best;
}

// Workers beyond this are not worth their barrier. A region costs under 1 us; a
// kernel kept on one worker also pulls its input from the other workers' L2.
static int64_t usefulWorkers(const Target &target, double microseconds) {
  return std::clamp<int64_t>(int64_t(microseconds / 1.5), 1, target.threads);
}

// Rough time on one core, to decide on threads: 32 FMAs a cycle at 512 bits.
static double estimateMicroseconds(const Task &task, const Target &target) {
  double flopsPerNs = 4.0 * double(target.vectorFloats()) * 4.0;
  double bytesPerNs = 80.0;
  return std::max(task.flops() / flopsPerNs, task.bytes() / bytesPerNs) / 1e3;
}

// Share of time lost when `chunks` equal chunks run on `workers`.
static double imbalance(int64_t chunks, int64_t workers) {
  int64_t rounds = (chunks + workers - 1) / workers;
  return double(rounds * workers) / double(chunks);
}

// Chunks of rows that let kernels hand large images on stripe by stripe: what a
// chunk reads and writes is a quarter of L2.
static int64_t stripes(const Task &task, const Target &target) {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  if (in.dims.size() != 4 || in.dims[0] != 1 ||
      std::max(in.sizeBytes(), out.sizeBytes()) < target.stripedBytes())
    return 1;
  return (in.sizeBytes() + out.sizeBytes()) / (target.l2Bytes / 4) + 1;
}

// How many chunks to cut `extent` iterations into, out of its divisors: at
// least `least` (cache), little imbalance, and chunks of 10 us or more, up to
// four a worker, so that a disturbed worker is helped out.
static int64_t pickChunks(int64_t extent, int64_t workers, int64_t least,
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

// Accumulators that LLVM's scheduler keeps in registers without a spill.
static int64_t unspilledAccumulators(const Target &target) {
  return target.vectorRegisters >= 32 ? 16 : 12;
}

// Cycles for one reduction step of a tile of `width` pixels with `row` vectors
// of filters. `weightCycles`: to bring one vector of weights into L1.
static double tileCycles(int64_t width, int64_t row, double weightCycles) {
  return std::max({double(row * width) / 2.0, double(row + width) / 2.0, 4.0,
                   double(row) * weightCycles});
}

// The same over all tiles of `width` pixels, per vector of filters.
static double stepCycles(int64_t width, int64_t most, int64_t row,
                         double weightCycles) {
  int64_t tiles = (width + most - 1) / most;
  int64_t size = width / tiles, larger = width % tiles;
  double cycles = double(larger) * tileCycles(size + 1, row, weightCycles) +
                  double(tiles - larger) * tileCycles(size, row, weightCycles);
  // Two sizes are two loops.
  return cycles / double(row) * (larger ? 1.01 : 1.0);
}

static bool isHeavy(const Task &task) {
  for (const PointOp &point : task.points)
    switch (point.op) {
    case Op::Sigmoid:
    case Op::Swish:
    case Op::Tanh:
    case Op::Erf:
    case Op::Gelu:
    case Op::GeluTanh:
    case Op::Exp:
    case Op::Elu:
    case Op::Div:
    case Op::Sqrt:
      return true;
    default:
      break;
    }
  return false;
}

namespace {
struct RegisterTile {
  int64_t row = 1, width = 1;
  /// Of a reduction step, over all pixels of a line and a vector of filters.
  double cycles = 4;
};
} // namespace

// Register tiles that some divisor of `pixels` cuts between; merged pixels are
// cut into chunks there only.
static int64_t cuttableTiles(int64_t pixels, int64_t tileWidth) {
  int64_t tiles = (pixels + tileWidth - 1) / tileWidth;
  return pixels % tiles == 0 ? tiles : largestDivisor(pixels, tiles / 4);
}

static double leastImbalance(int64_t extent, int64_t others, int64_t workers) {
  double least = INFINITY;
  for (int64_t d : divisors(extent))
    least = std::min(least, imbalance(d * others, workers));
  return least;
}

// Share of time lost where neither pixels nor panels of `row` vectors can be
// dealt out evenly.
static double unevenness(const ContractionShape &shape, int64_t vectors,
                         int64_t row, int64_t tileWidth, int64_t workers) {
  int64_t units =
      shape.height > 1 ? shape.height : cuttableTiles(shape.width, tileWidth);
  int64_t others = shape.images * shape.groups;
  return std::min(leastImbalance(units, others, workers),
                  leastImbalance(vectors / row, others, workers));
}

static RegisterTile pickRegisterTile(const Task &task,
                                     const ContractionShape &shape,
                                     int64_t workers, const Target &target) {
  int64_t vectors = shape.groupVectors(task, target.vectorFloats());
  int64_t width = shape.width;
  double depth = double(shape.depth());
  // One pixel: only filters fill the pipeline.
  if (width == 1)
    return {largestDivisor(vectors, 8), 1, 4};
  int64_t accumulators = unspilledAccumulators(target);
  // Rows a multiple of 2 KiB apart fall into few L1 sets, which matters where
  // more than a few lines of each are read.
  int64_t mostRows = shape.inputStrides[2] * 4 % 2048 == 0 &&
                             shape.reductions.back().extent > 64
                         ? 8
                         : 16;
  RegisterTile best;
  double bestTime = INFINITY;
  for (int64_t row : {2, 3, 4, 1, 5, 6, 7}) {
    if (vectors % row)
      continue;
    int64_t most = std::min({mostRows, accumulators / row,
                             mostTileWidth(row, target.vectorRegisters)});
    for (int64_t w = most; w >= 1; --w) {
      // A panel that does not stay in L1 streams from L2 at half a line a
      // cycle.
      bool inL1 = depth * double(row * target.vectorFloats()) * 4.0 <
                  double(target.l1dBytes) * 0.6;
      double cycles = stepCycles(
          width, w, row, inL1 ? 0.0 : double(target.vectorBits) / 8.0 / 32.0);
      double time = cycles * unevenness(shape, vectors, row, w, workers);
      if (time < bestTime * 0.995) {
        bestTime = time;
        best = {row, w, cycles};
      }
    }
  }
  return best;
}

// Cycles of a line of pixels of all groups: the products, loops around the
// innermost one, sums through the epilogue, once more for ragged panels.
static double lineCycles(const Task &task, const ContractionShape &shape,
                         const Target &target) {
  int64_t lanes = target.vectorFloats();
  RegisterTile tile = pickRegisterTile(task, shape, 1, target);
  auto vectors = double(shape.groupVectors(task, lanes));
  double outer = double(shape.depth()) / double(shape.reductions.back().extent);
  double tiles = double((shape.width + tile.width - 1) / tile.width) * vectors /
                 double(tile.row);
  double perSum = shape.groupFilters % lanes ? 4 : 2;
  return double(shape.groups) *
         (tile.cycles * vectors * double(shape.depth()) + 4 * outer * tiles +
          perSum * vectors * double(shape.width));
}

// Narrow groups waste lanes, joined ones multiply by zeros: the cheaper one.
static Result<ContractionShape> pickShape(const Task &task,
                                          const Target &target) {
  Result<ContractionShape> best = ContractionShape::of(task);
  if (task.kind != TaskKind::Conv || task.groups == 1)
    return best;
  int64_t filters = task.output().type.dims[1] / task.groups;
  int64_t lanes = target.vectorFloats();
  int64_t most = std::min(task.groups, 4 * lanes / filters);
  for (int64_t joined = 2; joined <= most; ++joined) {
    if (task.groups % joined && joined * filters % lanes)
      continue;
    Result<ContractionShape> shape = ContractionShape::of(task, joined);
    if (shape && (!best || lineCycles(task, *shape, target) <
                               0.98 * lineCycles(task, *best, target)))
      best = std::move(shape);
  }
  return best;
}

// Iterations of the outermost reduction in a pass: all where the input of a
// chunk stays in L2 beside a panel and the next one. Else as many as do, unless
// so few that loading and storing the sums shows.
static int64_t pickDepthTile(const ContractionShape &shape, double bytes,
                             const Target &target) {
  int64_t extent = shape.reductions[0].extent, inner = shape.depth() / extent;
  if (bytes <= 0.8 * double(target.l2Bytes))
    return extent;
  int64_t best = extent;
  for (int64_t tile : divisors(extent))
    if (tile * inner >= 256 &&
        (best == extent || bytes * double(tile) / double(extent) <=
                               0.75 * double(target.l2Bytes)))
      best = tile;
  return best;
}

// Whether a stage should pack the right operand: read in place, its rows fall
// into few cache sets or pages, which many rows of the left one pay for.
static bool packsRightOperand(const ContractionShape &shape) {
  if (shape.weightStrides[2] != 1)
    return true;
  return shape.width >= 32 && shape.weightStrides[1] >= 1024;
}

// False: the plain form is better.
static bool scheduleDirect(const Task &task, const Target &target,
                           Schedule &schedule) {
  Result<ContractionShape> found = pickShape(task, target);
  TLM_CHECK(found);
  const ContractionShape &shape = *found;
  int64_t lanes = target.vectorFloats();
  int64_t vectors = shape.groupVectors(task, lanes);
  bool scaled = task.find(Role::InputScale) != nullptr;
  // Few rows do not pay for transposing the right operand.
  bool packs = !shape.weightStrides.empty() && packsRightOperand(shape);
  if (packs && shape.weightStrides[2] != 1 && shape.width <= 4)
    return false;
  bool byHeight = shape.height > 1;
  int64_t rows = byHeight ? shape.height : shape.width;
  double depth = double(shape.depth());
  double time = estimateMicroseconds(task, target);
  int64_t workers = usefulWorkers(target, time);
  RegisterTile tile = pickRegisterTile(task, shape, workers, target);
  // A ragged last panel is a stage of its own.
  int64_t room = shape.panelRoom(task);
  int64_t panels = std::max<int64_t>(1, room / (tile.row * lanes));

  double inputBytes = double(task.find(Role::Input)->type.sizeBytes());
  // Rows first: from kernel to kernel a worker then finds in its own L2 what it
  // wrote, while weights come from the shared L3 anyway. Not where weights are
  // the large operand: every row chunk reads all of them.
  double weightBytes = 4.0 * depth * double(vectors * lanes);
  bool cutRows =
      weightBytes <= std::max(2.0 * inputBytes, double(target.l2Bytes));
  double panelBytes = 4.0 * depth * double(tile.row * lanes);
  // While weights stay in L2, so should the input that all panels pass over.
  int64_t leastRows = 1, depthTile = shape.reductions[0].extent;
  double passShare = 1;
  if (weightBytes < double(target.l2Bytes / 2)) {
    leastRows = int64_t(inputBytes / double(shape.images) /
                        double(target.l2Bytes / 2)) +
                1;
  } else {
    // Every panel would read a chunk's input from memory again. Every chunk of
    // rows reads all panels, which eight tiles hide.
    double imageBytes = inputBytes / double(shape.images);
    depthTile = pickDepthTile(shape, imageBytes + 2.0 * panelBytes, target);
    passShare = double(depthTile) / double(shape.reductions[0].extent);
    double left = 0.8 * double(target.l2Bytes) - 2.0 * passShare * panelBytes;
    double chunks = std::ceil(passShare * imageBytes / left);
    if (left > 0 && chunks <= double(rows) / double(8 * tile.width))
      leastRows = int64_t(chunks);
  }
  if (weightBytes <= double(target.l2Bytes / 8))
    leastRows = std::max(leastRows, stripes(task, target));
  // A panel writes a short piece of every row: while those of the next panel
  // are still in L2, memory sees whole rows.
  double outputBytes =
      double(task.output().type.sizeBytes()) / double(shape.images);
  if (outputBytes > double(target.l2Bytes) && panels > 1 && rows >= 64 &&
      weightBytes <= double(target.l2Bytes))
    leastRows = std::max(
        leastRows,
        std::min(int64_t(outputBytes * 6 / double(target.l2Bytes)), rows / 64) +
            1);
  // Ragged columns pass through a quarter of L2.
  if (room % (tile.row * lanes)) {
    double sumBytes =
        4.0 * double(tile.row * lanes) * double(shape.height * shape.width);
    leastRows =
        std::max(leastRows, int64_t(sumBytes / double(target.l2Bytes / 4)) + 1);
  }
  int64_t units = byHeight ? rows : cuttableTiles(rows, tile.width);
  int64_t rowWorkers =
      shape.images * shape.groups >= 4 * workers || !cutRows ? 1 : workers;
  int64_t rowChunks = pickChunks(units, rowWorkers, leastRows, time);
  int64_t panelChunks = 1;
  // Every pass reads and writes the sums of a chunk's panels.
  int64_t leastPanels = passShare < 1
                            ? int64_t(outputBytes / double(rowChunks) /
                                      double(target.l2Bytes / 8)) +
                                  1
                            : 1;
  if (leastPanels > 1)
    panelChunks = pickChunks(panels, 1, leastPanels, time);
  if (imbalance(rowChunks * shape.images * shape.groups, workers) > 1.1) {
    rowChunks = pickChunks(units, 1, leastRows, time);
    panelChunks = pickChunks(panels, workers, leastPanels, time);
  }
  schedule.set(Decision::RegisterRow, "f", tile.row);
  schedule.set(Decision::RegisterTile, "w", tile.width);
  schedule.set(Decision::ParallelTile, "rows", rows / rowChunks);
  schedule.set(Decision::ParallelTile, "f", panels / panelChunks);
  // Whole pixels are written (and a residual read) in the order of memory where
  // the weights are few enough to come from L2 for every register tile.
  bool pixelsOuter =
      weightBytes <= double(target.l2Bytes) / 8 && panels > 1 &&
      outputBytes * double(shape.images) > double(target.l2Bytes) / 2;
  schedule.set(
      Decision::LoopOrder, "",
      int64_t(pixelsOuter ? LoopOrder::PixelsOuter : LoopOrder::PanelsOuter));
  schedule.set(Decision::CacheTile, "depth", depthTile);
  schedule.set(Decision::EpiloguePlace, "",
               int64_t(isHeavy(task) ? EpiloguePlace::RowLoop
                                     : EpiloguePlace::RegisterTile));
  schedule.set(Decision::JoinedGroups, "", shape.joinedGroups);
  if (!shape.weightStrides.empty())
    schedule.set(Decision::Prologue, "",
                 int64_t(packs ? Prologue::PackWeights : Prologue::None));
  if (scaled) {
    int64_t pixels = shape.images * shape.height * shape.width;
    bool scaleWeights = shape.images == 1 &&
                        task.find(Role::Input)->type.dims[0] == 1 &&
                        (pixels > vectors * lanes ||
                         task.find(Role::Input)->type.dims[1] % lanes != 0);
    schedule.set(
        Decision::Prologue, "",
        int64_t(scaleWeights ? Prologue::ScaleWeights : Prologue::ScaleInput));
  }
  // The panel of a narrow group stays in L1; one that leaves no room in L2 for
  // the next would be driven out by it.
  if (2.0 * passShare * panelBytes <= 0.8 * double(target.l2Bytes) &&
      (shape.weightStrides.empty() ||
       (packs && weightBytes > double(target.l2Bytes))) &&
      (shape.groups == 1 || panelBytes > double(target.l1dBytes)))
    schedule.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
  schedule.set(Decision::MaxParallelism, "", workers);
  return true;
}

// F(4x4,3x3) where the image has enough tiles and channels to pay for the
// transforms; measured 2.5-3.3x over direct there.
static bool scheduleWinograd(const Task &task, const Target &target,
                             const Space &space, Schedule &schedule) {
  if (!space.offers(Algorithm::WinogradBlocked) &&
      !space.offers(Algorithm::WinogradStaged))
    return false;
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  int64_t lanes = target.vectorFloats();
  int64_t tileRows = (out.dims[2] + 3) / 4, tileColumns = (out.dims[3] + 3) / 4;
  if (std::min(out.dims[2], out.dims[3]) < 4 ||
      out.dims[0] * tileRows * tileColumns < 16 || in.dims[1] < 32 ||
      out.dims[1] < 32)
    return false;
  int64_t vectors = out.channelStride / lanes;
  int64_t row = vectors % 2 == 0 ? 2 : vectors % 3 == 0 ? 3 : 1;
  double filterBytes = 144.0 * double(in.dims[1]) * double(out.channelStride);
  bool staged =
      filterBytes > 0.75 * double(target.l2Bytes) || out.dims[2] % 4 != 0;
  if (!space.offers(staged ? Algorithm::WinogradStaged
                           : Algorithm::WinogradBlocked))
    staged = !staged;
  int64_t tiles = staged ? out.dims[0] * tileRows * tileColumns : tileColumns;
  int64_t width = 1;
  double best = INFINITY;
  for (int64_t w = unspilledAccumulators(target) / row; w >= 2; --w) {
    int64_t padded = (tiles + w - 1) / w;
    double cycles = double(padded) * tileCycles(w, row, 0);
    if (cycles < best * 0.995) {
      best = cycles;
      width = w;
    }
  }
  schedule.set(
      Decision::Algorithm, "",
      int64_t(staged ? Algorithm::WinogradStaged : Algorithm::WinogradBlocked));
  schedule.set(Decision::WinogradTile, "", int64_t(WinogradTile::F4x4));
  schedule.set(Decision::RegisterRow, "f", row);
  schedule.set(Decision::RegisterTile, "w", width);
  schedule.set(Decision::ParallelTile, "x", 1);
  schedule.set(Decision::ParallelTile, "f",
               largestDivisor(vectors, vectors >= 8 ? 4 : 2));
  schedule.set(Decision::TileRows, "", 1);
  schedule.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
  schedule.set(Decision::MaxParallelism, "",
               usefulWorkers(target, estimateMicroseconds(task, target)));
  return true;
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
