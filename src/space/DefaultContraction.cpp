#include "space/ContractionShape.h"
#include "space/DefaultRules.h"
#include "space/rules/Choices.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

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

// Bytes a cycle that weights stream at from L3 or memory (5 on Emerald Rapids,
// 12 on Zen 5).
static constexpr double kStreamedBytes = 8;

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
  int64_t pairs = shape.pairVectors(task, target.vectorFloats());
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
      // Pairs of steps leave no lanes idle.
      if (row == vectors && pairs && w * row >= 2 * pairs)
        cycles *= std::min(1.0, double(pairs) / double(2 * row));
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

// Cycles of all lines, beside the stream of weights.
static double directCycles(const Task &task, const ContractionShape &shape,
                           const Target &target) {
  auto filters = double(task.output().type.channelStride);
  return std::max(double(shape.images * shape.height) *
                      lineCycles(task, shape, target),
                  4 * double(shape.depth()) * filters / kStreamedBytes);
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

bool tlm::scheduleDirect(const Task &task, const Target &target,
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

namespace {
struct WinogradForm {
  WinogradTile tile = WinogradTile::F4x4;
  bool staged = false;
  int64_t row = 1, width = 1; ///< of the register tile
  double cycles = INFINITY;   ///< of the whole task
};
} // namespace

// Products with their register tile, beside the filters' stream, and both
// transforms.
static WinogradForm winogradForm(const Task &task, const Target &target,
                                 WinogradTile tile, bool staged) {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  int64_t outputs = tileOutputs(tile),
          columns = (out.dims[3] - 1) / outputs + 1;
  int64_t blocks = staged ? 1 : out.dims[0] * ((out.dims[2] - 1) / outputs + 1);
  int64_t tiles = out.dims[0] * ((out.dims[2] - 1) / outputs + 1) * columns;
  int64_t lanes = target.vectorFloats(), vectors = out.channelStride / lanes;
  auto products = double((outputs + 2) * (outputs + 2));
  auto channels = double(in.dims[1]);
  WinogradForm form{.tile = tile, .staged = staged};
  form.row = vectors % 2 == 0 ? 2 : vectors % 3 == 0 ? 3 : 1;
  int64_t blockTiles = tiles / blocks;
  for (int64_t w = unspilledAccumulators(target) / form.row; w >= 2; --w) {
    int64_t padded = blocks * ((blockTiles + w - 1) / w);
    double cycles = double(padded * vectors / form.row) *
                    (channels * tileCycles(w, form.row, 0) + 12);
    if (cycles < form.cycles * 0.995) {
      form.cycles = cycles;
      form.width = w;
    }
  }
  double filterBytes = 4 * channels * double(out.channelStride);
  double transforms =
      3.3 * double(tiles * (in.channelStride / lanes + vectors));
  form.cycles =
      products *
      (std::max(form.cycles, filterBytes / kStreamedBytes) + transforms);
  return form;
}

// F(4x4,3x3) or F(2x2,3x3) where products saved are worth the transforms and
// the larger filters; measured 2.5-3.3x over direct on large images.
bool tlm::scheduleWinograd(const Task &task, const Target &target,
                           const Space &space, Schedule &schedule) {
  if (!space.offers(Algorithm::WinogradBlocked) &&
      !space.offers(Algorithm::WinogradStaged))
    return false;
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  WinogradForm best;
  for (WinogradTile tile : {WinogradTile::F4x4, WinogradTile::F2x2}) {
    int64_t outputs = tileOutputs(tile);
    if (std::min(out.dims[2], out.dims[3]) < outputs)
      continue;
    double products = double((outputs + 2) * (outputs + 2));
    double filterBytes =
        4 * products * double(in.dims[1]) * double(out.channelStride);
    bool staged = filterBytes > 0.75 * double(target.l2Bytes) ||
                  out.dims[2] % outputs != 0;
    if (!space.offers(staged ? Algorithm::WinogradStaged
                             : Algorithm::WinogradBlocked))
      staged = !staged;
    WinogradForm form = winogradForm(task, target, tile, staged);
    if (form.cycles < best.cycles)
      best = form;
  }
  Result<ContractionShape> direct = ContractionShape::of(task);
  if (direct && best.cycles > 0.9 * directCycles(task, *direct, target))
    return false;
  int64_t vectors = out.channelStride / target.vectorFloats();
  schedule.set(Decision::Algorithm, "",
               int64_t(best.staged ? Algorithm::WinogradStaged
                                   : Algorithm::WinogradBlocked));
  schedule.set(Decision::WinogradTile, "", int64_t(best.tile));
  schedule.set(Decision::RegisterRow, "f", best.row);
  schedule.set(Decision::RegisterTile, "w", best.width);
  schedule.set(Decision::ParallelTile, "x", 1);
  schedule.set(Decision::ParallelTile, "f",
               largestDivisor(vectors, vectors >= 8 ? 4 : 2));
  schedule.set(Decision::TileRows, "", 1);
  schedule.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
  schedule.set(Decision::MaxParallelism, "",
               usefulWorkers(target, estimateMicroseconds(task, target)));
  return true;
}
