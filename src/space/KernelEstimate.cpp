#include "space/KernelEstimate.h"

#include "space/CodeSize.h"
#include "space/ContractionShape.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

// Rates of one core: cycles a microsecond, and bytes a cycle from L2, from L3
// and from memory. Only their proportions matter for a ranking.
constexpr double kCycles = 4000, kFromL2 = 48, kFromL3 = 20, kFromMemory = 10;
constexpr double kRegionMicroseconds = 0.6, kChunkMicroseconds = 0.05;

/// Cycles and bytes of one worker-independent piece of work, which is cut into
/// equal chunks.
struct Work {
  double operationCycles = 0, epilogueCycles = 0;
  double l2Bytes = 0;      ///< from L2 to L1, beyond what L1 keeps
  double l3Bytes = 0;      ///< to L2
  double memoryBytes = 0;  ///< touched at least once
  double sharedCycles = 0; ///< of stages before, spread over all workers
};

class Estimator {
public:
  Estimator(const Task &task, const Target &target, const Schedule &schedule)
      : task(task), target(target), schedule(schedule),
        lanes(double(target.vectorFloats())) {}

  KernelEstimate run();

private:
  double get(Decision decision, std::string_view subject,
             double otherwise) const {
    return double(schedule.get(decision, subject, int64_t(otherwise)));
  }
  double l1() const { return double(target.l1dBytes); }
  double l2() const { return double(target.l2Bytes); }
  /// Cycles of one reduction step of a tile of `row` vectors by `width`.
  double stepCycles(double row, double width, double panelBytes,
                    double pixelBytes) const;
  /// A product of `tiles` register tiles over `depth` steps each; pixels are
  /// `pixelBytes` apart.
  void addProduct(double tiles, double row, double width, double depth,
                  double panelBytes, double pixelBytes);
  void contraction(const ContractionShape &shape);
  void winograd(bool staged);
  void window();
  void rows();
  void attention();
  void move();
  void share();

  const Task &task;
  const Target &target;
  const Schedule &schedule;
  double lanes;
  KernelEstimate result;
  Work work;
};

double ceilDiv(double a, double b) { return std::ceil(a / b); }

double outputBytes(const Task &task) {
  return double(task.output().type.sizeBytes());
}

double inputBytes(const Task &task) {
  return double(task.operands.front().type.sizeBytes());
}

} // namespace

// Two products and two loads a cycle; a sum waits four cycles for the last one;
// accumulators beyond what LLVM's scheduler keeps apart cost moves.
double Estimator::stepCycles(double row, double width, double panelBytes,
                             double pixelBytes) const {
  double cycles = std::max({row * width / 2, (row + width) / 2, 4.0});
  // Of pixels in the same sets of L1 one is loaded a cycle.
  if (std::fmod(pixelBytes, 1024) == 0)
    cycles = std::max(cycles, width);
  double kept = target.vectorRegisters >= 32 ? 16 : 12;
  if (row * width > kept)
    cycles *= 1 + 0.03 * (row * width - kept);
  // Weights that do not stay in L1 stream from L2, half a line a cycle, which
  // hides behind the products in part.
  if (panelBytes > 0.6 * l1()) {
    double stream = row * lanes * 4 / 32;
    cycles = std::max(cycles, stream) + 0.25 * std::min(cycles, stream);
  }
  return cycles;
}

void Estimator::addProduct(double tiles, double row, double width, double depth,
                           double panelBytes, double pixelBytes) {
  double steps = tiles * depth;
  double cycles = stepCycles(row, width, panelBytes, pixelBytes);
  result.steps += steps;
  result.vectorOperations += steps * row * width;
  result.registerTraffic += steps * 4 * (row * lanes + width);
  work.operationCycles += steps * cycles + 12 * tiles;
  result.tilePixels = width;
  result.tileVectors = row;
  result.registers = row * width + row + 1;
  result.panelBytes = panelBytes;
}

void Estimator::contraction(const ContractionShape &shape) {
  double row = get(Decision::RegisterRow, "f", 1);
  bool byHeight = shape.height > 1;
  double allRows = double(byHeight ? shape.height : shape.width);
  double chunkRows = get(Decision::ParallelTile, "rows", allRows);
  double vectors =
      double(shape.groupVectors(task, int64_t(target.vectorFloats())));
  double panels = ceilDiv(vectors, row);
  double chunkPanels =
      std::min(panels, get(Decision::ParallelTile, "f", panels));
  double line = byHeight ? double(shape.width) : chunkRows;
  double lines = byHeight ? chunkRows : 1;
  double width = std::min(line, get(Decision::RegisterTile, "w", 1));
  double tilesOfLine = ceilDiv(line, width), meanWidth = line / tilesOfLine;
  double depth = double(shape.depth());
  double outer = double(shape.images * shape.groups);
  double rowChunks = outer * allRows / chunkRows;
  result.chunks = rowChunks * std::max(1.0, std::floor(panels / chunkPanels));

  // A pass takes a part of the depth over all tiles of a chunk.
  double outerDepth = double(shape.reductions[0].extent);
  double passes = outerDepth / get(Decision::CacheTile, "depth", outerDepth);
  double panelBytes = 4 * depth * row * lanes / passes;
  double tiles = rowChunks * lines * tilesOfLine * panels;
  addProduct(tiles * passes, row, meanWidth, depth / passes, panelBytes,
             4 * double(shape.inputStrides[2]));
  result.tilePixels = width;
  result.registers = row * width + row + 1;
  // Loops around the innermost reduction.
  work.operationCycles +=
      4 * tiles * (depth / double(shape.reductions.back().extent));
  double epilogue = double(epilogueOperations(task));
  bool rowLoop =
      get(Decision::EpiloguePlace, "", 0) == double(EpiloguePlace::RowLoop);
  work.epilogueCycles += tiles * (row * meanWidth * epilogue / 2 +
                                  (rowLoop ? 3 * meanWidth : 0.0));
  if (shape.panelRoom(task) % int64_t(row * lanes))
    work.epilogueCycles += 4 * rowChunks * lines * line; // ragged columns

  double allInput = inputBytes(task) / outer;
  double inputOfChunk = allInput * chunkRows / allRows;
  double weights = 4 * depth * vectors * lanes;
  double weightsOfChunk = chunkPanels * panelBytes * passes;
  double outputOfChunk = 4 * lines * line * chunkPanels * row * lanes;
  result.chunkInputBytes = inputOfChunk;
  result.chunkWeightBytes = weightsOfChunk;
  result.chunkOutputBytes = outputOfChunk;
  // Every pass but the first loads the sums, every one but the last stores
  // them.
  double sumBytes = 2 * (passes - 1) * outputOfChunk;
  work.epilogueCycles += tiles * (passes - 1) * row * meanWidth;

  auto order = LoopOrder(int64_t(get(Decision::LoopOrder, "", 0)));
  double again = 0; // bytes of a chunk that pass into L1 more than once
  double kept = 0;  // what must stay in L2 for that
  double met = passes > 1 ? outputOfChunk : 0; // again in the next pass
  if (order == LoopOrder::PixelsOuter) {
    double times = lines * tilesOfLine;
    double weightsOfPass = weightsOfChunk / passes;
    again = weightsOfPass > 0.8 * l1() ? times * weightsOfChunk : 0;
    kept = weightsOfPass + inputOfChunk / passes / std::max(1.0, times) + met;
    result.cacheTraffic =
        result.chunks * (inputOfChunk + outputOfChunk +
                         (kept > 0.8 * l2() ? times : 1) * weightsOfChunk);
  } else {
    double pieces = order == LoopOrder::RowsOuter ? lines : 1;
    double input = inputOfChunk / pieces / passes;
    again = input > 0.5 * l1() ? chunkPanels * inputOfChunk : 0;
    if (order == LoopOrder::RowsOuter)
      again +=
          weightsOfChunk / passes > 0.8 * l1() ? lines * weightsOfChunk : 0;
    kept = order == LoopOrder::RowsOuter ? weightsOfChunk / passes + input
                                         : input + 2 * panelBytes;
    double inputTimes = kept > 0.9 * l2() ? chunkPanels : 1;
    double weightTimes =
        order == LoopOrder::RowsOuter && kept > 0.8 * l2() ? lines : 1;
    kept += met;
    result.cacheTraffic =
        result.chunks * (inputTimes * inputOfChunk + outputOfChunk +
                         weightTimes * weightsOfChunk);
  }
  again += sumBytes;
  if (kept > 0.9 * l2())
    result.cacheTraffic += result.chunks * sumBytes;
  // Prefetching hides the first meeting with a panel, where there is room.
  bool prefetches =
      get(Decision::Prefetch, "", 0) == double(Prefetch::NextPanel);
  double hidden = prefetches && kept + panelBytes < 0.9 * l2() ? 0.5 : 1;
  result.cacheFootprint = kept + outputOfChunk / std::max(1.0, chunkPanels);
  work.l2Bytes += result.chunks * again;
  work.l3Bytes +=
      result.cacheTraffic - (1 - hidden) * result.chunks * weightsOfChunk;
  work.memoryBytes += weights * double(shape.groups) * hidden +
                      std::max(0.0, inputBytes(task) + outputBytes(task) -
                                        double(target.l3Bytes) / 2);

  auto prologue = Prologue(int64_t(get(Decision::Prologue, "", 0)));
  if (prologue == Prologue::None)
    return;
  // A stage of its own reads and writes the operand once.
  double bytes = prologue == Prologue::ScaleInput ? inputBytes(task) : weights;
  if (prologue == Prologue::PackWeights)
    bytes *= shape.weightPerImage ? double(shape.images) : 1;
  work.sharedCycles += 2 * bytes / kFromL2;
  result.stages = 2;
}

// F(2x2,3x3) or F(4x4,3x3): transforms of 16 or 36 values a tile, and as many
// products.
void Estimator::winograd(bool staged) {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  double images = double(out.dims[0]);
  auto tile = WinogradTile(
      int64_t(get(Decision::WinogradTile, "", double(WinogradTile::F4x4))));
  auto outputs = double(tileOutputs(tile));
  double values = (outputs + 2) * (outputs + 2);
  double tileRows = ceilDiv(double(out.dims[2]), outputs);
  double tileColumns = ceilDiv(double(out.dims[3]), outputs);
  double channels = double(in.channelStride);
  double filters = double(out.channelStride);
  double row = get(Decision::RegisterRow, "f", 1);
  double width = get(Decision::RegisterTile, "w", 1);
  double panels = filters / lanes / row;
  double blockRows = get(Decision::TileRows, "", 1);
  double allTiles = images * tileRows * tileColumns;
  double blockTiles = staged ? allTiles : blockRows * tileColumns;
  double blocks = allTiles / blockTiles;
  double panelBytes = 4 * channels * row * lanes;
  addProduct(values * blocks * ceilDiv(blockTiles, width) * panels, row, width,
             channels, panelBytes, 4 * channels);
  work.operationCycles +=
      allTiles / lanes * values * (4.5 * channels + 3.5 * filters);
  work.epilogueCycles += allTiles * filters / lanes * outputs * outputs *
                         double(epilogueOperations(task)) / 2;
  double scratch = 4 * values * (channels + filters);
  double weights = 4 * values * channels * filters;
  result.chunkInputBytes = inputBytes(task) / blocks;
  result.chunkWeightBytes = weights;
  result.chunkOutputBytes = outputBytes(task) / blocks;
  if (staged) {
    double matrices = get(Decision::ParallelTile, "x", 1);
    double chunkVectors = get(Decision::ParallelTile, "f", filters / lanes);
    result.chunks =
        values / matrices * images * (filters / lanes / chunkVectors);
    result.stages = 3;
    double products = weights + 4 * values * allTiles * channels *
                                    (filters / lanes / chunkVectors);
    result.cacheFootprint = panelBytes + 4 * allTiles / images * channels;
    result.cacheTraffic = 2 * scratch * allTiles + products;
    work.l2Bytes += 4 * values * allTiles * channels * panels;
  } else {
    result.chunks = blocks;
    double kept = scratch * blockTiles;
    result.cacheFootprint = kept;
    bool fits = kept < 0.9 * l2();
    result.cacheTraffic = blocks * weights + inputBytes(task) +
                          outputBytes(task) + (fits ? 0 : 2 * kept * blocks);
    work.l2Bytes += 2 * kept * blocks + 4 * values * allTiles * channels *
                                            std::max(0.0, panels - 1);
  }
  bool prefetches =
      get(Decision::Prefetch, "", 0) == double(Prefetch::NextPanel);
  work.l3Bytes += result.cacheTraffic * (prefetches ? 0.9 : 1);
  work.memoryBytes += weights;
}

void Estimator::window() {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  const Window &vertical = task.windows[0], &horizontal = task.windows[1];
  double images = double(out.dims[0]), height = double(out.dims[2]);
  double columns = double(out.dims[3]);
  double blocks = double(out.channelStride) / lanes;
  double rows = get(Decision::ParallelTile, "rows", height);
  double chunkBlocks = get(Decision::ParallelTile, "c", blocks);
  double h = get(Decision::RegisterTile, "h", 1);
  double w = std::min(columns, get(Decision::RegisterTile, "w", 1));
  double taps = double(vertical.kernel * horizontal.kernel);
  bool weighted = task.kind == TaskKind::Depthwise;
  double meanW = columns / ceilDiv(columns, w);
  double tiles = images * (height / h) * ceilDiv(columns, w) * blocks;
  auto reach = [](double tile, const Window &window) {
    return (tile - 1) * double(window.stride) +
           double(window.dilation * (window.kernel - 1)) + 1;
  };
  // Loads that a tile shares; weights stay where registers are left.
  double read =
      std::min(reach(h, vertical) * reach(meanW, horizontal), h * meanW * taps);
  double held = h * w + 2;
  auto order = LoopOrder(int64_t(get(Decision::LoopOrder, "", 0)));
  bool keeps = order == LoopOrder::PanelsOuter &&
               held + taps <= double(target.vectorRegisters);
  double weightLoads = weighted && !keeps ? taps : 0;
  double operations = h * meanW * taps;
  double cycles = std::max({operations / 2, (read + weightLoads) / 2,
                            4 * taps / std::max(1.0, h * meanW) * 0.5});
  result.tilePixels = h * w;
  result.registers = held;
  result.steps = tiles * taps;
  result.vectorOperations = tiles * operations;
  result.registerTraffic = tiles * 4 * lanes * (read + weightLoads);
  // A polynomial over many sums at once has no registers left.
  double epilogue = double(epilogueOperations(task));
  double spills = std::max(0.0, held - 0.4 * double(target.vectorRegisters));
  work.operationCycles += tiles * (cycles * (1 + 0.02 * spills) + 6);
  work.epilogueCycles += tiles * h * meanW * epilogue / 2 *
                         (1 + (epilogue > 20 ? 0.08 : 0.02) * spills);
  double rowChunks = images * height / rows;
  result.chunks = rowChunks * blocks / chunkBlocks;
  double share = chunkBlocks / blocks;
  double inputRows = reach(rows, vertical);
  double rowBytes = double(in.sizeBytes()) / images /
                    double(in.dims[2] + in.border.top + in.border.bottom);
  result.chunkInputBytes = rowBytes * inputRows * share;
  result.chunkWeightBytes = weighted ? 4 * taps * chunkBlocks * lanes : 0;
  result.chunkOutputBytes = outputBytes(task) / images / height * rows * share;
  // Rows of the window are met again by the next ones.
  double lineBytes = rowBytes * reach(h, vertical) *
                     (order == LoopOrder::PanelsOuter ? 1 / blocks : share);
  if (lineBytes > 0.6 * l1())
    work.l2Bytes += result.chunks * result.chunkInputBytes *
                    reach(h, vertical) / h / double(vertical.stride);
  result.cacheFootprint = result.chunkInputBytes + result.chunkOutputBytes;
  result.cacheTraffic =
      result.chunks * (result.chunkInputBytes + result.chunkOutputBytes);
  work.l3Bytes += result.cacheTraffic;
  // A panel of channels takes one line of each pixel, a tall tile some pixels
  // of many rows: little is fetched ahead, so nothing hides it. Lines 1024
  // bytes apart share sets of L1.
  double scattered = order == LoopOrder::PanelsOuter ? 1
                     : order == LoopOrder::RowsOuter ? 0.5
                                                     : 0;
  if (blocks == 1)
    scattered = 0;
  if (in.channelStride % 256 == 0)
    scattered *= 3;
  work.epilogueCycles +=
      (scattered + 0.1 * (h - 1)) * result.cacheTraffic / kFromL2;
  work.memoryBytes += std::max(0.0, inputBytes(task) + outputBytes(task) -
                                        double(target.l3Bytes) / 2);
}

// Softmax and normalisation: three passes, each over a row in L1.
void Estimator::rows() {
  const BufferType &type = task.find(Role::Input)->type;
  double length = double(type.dims.back());
  double all = double(type.elementCount()) / length;
  double tile = get(Decision::ParallelTile, "rows", all);
  double sums = get(Decision::Accumulators, "", 1);
  double vectors = ceilDiv(length, lanes);
  double perVector = task.kind == TaskKind::Softmax ? 14 : 4;
  double cycles =
      vectors * (perVector + 2 * std::max(0.5, 4 / sums)) + 8 * sums + 30;
  result.steps = all * vectors;
  result.vectorOperations = all * vectors * 7;
  result.registers = sums + 2;
  result.registerTraffic = 3 * double(type.sizeBytes());
  result.tileVectors = sums;
  result.chunks = all / tile;
  work.operationCycles += all * cycles;
  result.chunkInputBytes = result.chunkOutputBytes = 4 * tile * length;
  result.cacheFootprint = 8 * length;
  result.cacheTraffic = inputBytes(task) + outputBytes(task);
  work.l3Bytes += result.cacheTraffic;
}

void Estimator::attention() {
  const std::vector<int64_t> &q = task.operands[0].type.dims;
  const std::vector<int64_t> &k = task.operands[1].type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  double heads = double(task.attention.heads) * double(out[0]);
  double rowCount = double(out[1]), keys = double(k[k.size() - 2]);
  double depth = q.size() == 3 ? double(q[2]) / double(task.attention.heads)
                               : double(q[3]);
  double values = double(out[2]) / double(task.attention.heads);
  double block = get(Decision::ParallelTile, "rows", rowCount);
  double keyRow = get(Decision::RegisterRow, "keys", 1);
  double valueRow = get(Decision::RegisterRow, "f", 1);
  double width = std::min(block, get(Decision::RegisterTile, "w", 1));
  double keyVectors = ceilDiv(keys, lanes),
         valueVectors = ceilDiv(values, lanes);
  double lines = heads * (rowCount / block) * ceilDiv(block, width);
  addProduct(lines * ceilDiv(keyVectors, keyRow), keyRow, width, depth,
             4 * depth * keyRow * lanes, 4 * depth);
  addProduct(lines * ceilDiv(valueVectors, valueRow), valueRow, width, keys,
             4 * keys * valueRow * lanes, 4 * keys);
  double widest = std::max(keyRow, valueRow);
  result.tileVectors = widest;
  result.registers = widest * width + widest + 1;
  work.operationCycles += heads * rowCount * keyVectors * 16; // softmax
  // Keys are packed once a block.
  double keyBytes = 4 * keys * (depth + values);
  result.chunks = heads * rowCount / block;
  work.operationCycles += result.chunks * keys * depth / lanes * 3;
  result.chunkInputBytes = 4 * block * depth + keyBytes;
  result.chunkOutputBytes = 4 * block * values;
  result.cacheFootprint =
      keyBytes + 4 * block * (depth + values + keyVectors * lanes);
  result.cacheTraffic = result.chunks *
                        (result.chunkInputBytes + result.chunkOutputBytes) *
                        (result.cacheFootprint > l2() ? 2 : 1);
  work.l2Bytes += lines * keyBytes;
  work.l3Bytes += result.cacheTraffic;
}

// Everything that only moves: bytes, in chunks of rows.
void Estimator::move() {
  double bytes = task.bytes();
  const std::vector<int64_t> &dims = task.output().type.dims;
  double rowCount = dims.size() == 4 ? double(dims[2]) : 1;
  double images = dims.empty() ? 1 : double(dims[0]);
  double vectors = get(Decision::RegisterRow, "c", 0);
  if (vectors > 0) { // global pooling
    double channels = ceilDiv(double(dims[1]), lanes);
    result.chunks = images * channels / vectors;
    result.tileVectors = vectors;
    work.operationCycles +=
        inputBytes(task) / 4 / lanes * std::max(0.5, 4 / vectors);
  } else {
    const BufferType &in = task.operands.front().type;
    if (task.kind == TaskKind::Copy && in.layout == Layout::Plain &&
        in.dims.size() == 4)
      rowCount = double(in.dims[1] * in.dims[2]);
    double tile = get(Decision::ParallelTile, "rows", rowCount);
    result.chunks = std::max(1.0, images * rowCount / tile);
  }
  double elements = double(task.output().type.elementCount());
  bool plain = get(Decision::Algorithm, "", 0) == double(Algorithm::Plain);
  work.operationCycles +=
      plain ? std::max(task.flops(), elements) * 2 : elements / lanes * 2;
  work.epilogueCycles +=
      elements / lanes * double(epilogueOperations(task)) / 2;
  result.cacheTraffic = bytes;
  result.chunkInputBytes = bytes / result.chunks;
  work.l3Bytes += bytes;
}

// The slowest worker's share, and what starting the regions costs.
void Estimator::share() {
  double most = get(Decision::MaxParallelism, "", 1);
  result.workers =
      std::max(1.0, std::min({most, double(target.threads), result.chunks}));
  double rounds = ceilDiv(result.chunks, result.workers);
  result.imbalance = rounds * result.workers / result.chunks;
  double part = result.imbalance / result.workers / kCycles;
  result.cyclesPerStep = work.operationCycles / std::max(1.0, result.steps);
  result.operationTime = work.operationCycles * part;
  result.epilogueTime = work.epilogueCycles * part;
  result.l2Time = work.l2Bytes / kFromL2 * part;
  double l3Time = work.l3Bytes / kFromL3 * part;
  // Memory is shared: two workers draw more than one, but not twice.
  result.memoryTime =
      work.memoryBytes / kFromMemory / kCycles / std::min(result.workers, 1.5);
  // Loads overlap with operations, not perfectly.
  double slowest = std::max(
      {result.operationTime, result.l2Time, l3Time, result.memoryTime});
  double rest = result.operationTime + result.l2Time + l3Time +
                result.memoryTime - slowest;
  double regions =
      result.stages * (result.workers > 1 ? kRegionMicroseconds : 0.05);
  result.microseconds = slowest + 0.3 * rest + result.epilogueTime +
                        work.sharedCycles / kCycles / result.workers + regions +
                        kChunkMicroseconds * rounds;
}

KernelEstimate Estimator::run() {
  auto algorithm = Algorithm(int64_t(get(Decision::Algorithm, "", 0)));
  Result<ContractionShape> shape = makeError("no contraction");
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::MatMul:
  case TaskKind::BatchMatMul:
    if (algorithm == Algorithm::Direct)
      shape = ContractionShape::of(task,
                                   schedule.get(Decision::JoinedGroups, "", 1));
    if (algorithm == Algorithm::WinogradBlocked ||
        algorithm == Algorithm::WinogradStaged)
      winograd(algorithm == Algorithm::WinogradStaged);
    else if (shape)
      contraction(*shape);
    else
      move();
    break;
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    algorithm == Algorithm::Plain ? move() : window();
    break;
  case TaskKind::Softmax:
  case TaskKind::Normalize:
    algorithm == Algorithm::Plain ? move() : rows();
    break;
  case TaskKind::Attention:
    algorithm == Algorithm::Plain ? move() : attention();
    break;
  default:
    move();
    break;
  }
  share();
  return result;
}

KernelEstimate tlm::estimateKernel(const Task &task, const Target &target,
                                   const Schedule &schedule) {
  return Estimator(task, target, schedule).run();
}
