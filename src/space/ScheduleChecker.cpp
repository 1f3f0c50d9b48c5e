//===- ScheduleChecker.cpp ------------------------------------------------===//

#include "space/ScheduleChecker.h"

#include "space/CodeSize.h"
#include "space/ContractionShape.h"

#include <algorithm>

namespace tlm {

namespace {

// The bounds once more, on purpose: a change in Limits.def that is not meant
// shows as a disagreement.
constexpr int64_t kMostChunks = 4096;
constexpr int64_t kMostOperations = 4096;
constexpr int64_t kMostTaps = 64;
constexpr int64_t kMostJoinedWork = 4;
constexpr int64_t kMostL2s = 4;
constexpr int64_t kMostValue = 1 << 24; ///< products stay below 2^63
constexpr int64_t kMostSharedBytes = int64_t(256) << 20;

class Replay {
public:
  Replay(const Task &task, const Target &target, const Schedule &schedule)
      : task(task), target(target), schedule(schedule),
        lanes(target.vectorFloats()), registers(target.vectorRegisters),
        out(task.output().type), used(schedule.choices.size(), false) {}

  std::string run();

private:
  int64_t take(Decision decision, const char *subject);
  void require(bool holds, const char *what) {
    if (!holds && reason.empty())
      reason = what;
  }
  /// Chunks of `tile` iterations cover a loop exactly once.
  int64_t cut(int64_t extent, int64_t tile, const char *what);
  void balanced(int64_t extent, int64_t tile);
  void workers(int64_t chunks);
  /// A stage with more chunks than allowed, though it could have fewer.
  void chunkCount(int64_t chunks, bool isLeast);
  void accumulators(int64_t row, int64_t width);
  LoopOrder order(int64_t panels, int64_t rows, int64_t tiles);
  void prefetch(bool severalPasses);
  bool isShaped(const Operand &operand) const {
    return operand.type.layout == Layout::Nhwc &&
           operand.type.dims == out.dims &&
           operand.type.channelStride >= out.channelStride &&
           !operand.isConstant;
  }
  bool packable() const;
  /// The smallest tile that cuts no more chunks out of a loop than allowed,
  /// `outer` times.
  static int64_t leastTile(int64_t extent, int64_t outer);

  void contraction();
  void scaledInput(const ContractionShape &shape, Prologue prologue);
  void winograd(bool staged);
  void window();
  void rows();
  void attention();
  void globalPool();
  void pointwise();
  void copy();
  void direct();

  const Task &task;
  const Target &target;
  const Schedule &schedule;
  int64_t lanes, registers;
  const BufferType &out;
  std::vector<bool> used;
  std::string reason;
};

} // namespace

int64_t Replay::take(Decision decision, const char *subject) {
  for (size_t i = 0; i < schedule.choices.size(); ++i) {
    const Choice &choice = schedule.choices[i];
    if (choice.decision == decision && choice.subject == subject) {
      used[i] = true;
      // Everything but the enumerations counts from one.
      bool isName =
          decision == Decision::LoopOrder ||
          decision == Decision::EpiloguePlace ||
          decision == Decision::Prologue || decision == Decision::Prefetch ||
          decision == Decision::WinogradTile || decision == Decision::Algorithm;
      int64_t least = isName ? 0 : 1;
      require(choice.value >= least && choice.value <= kMostValue,
              "a value out of range");
      return std::clamp(choice.value, least, kMostValue);
    }
  }
  if (reason.empty())
    reason = std::string(nameOf(decision)) + ' ' + subject + " is missing";
  return 1;
}

int64_t Replay::cut(int64_t extent, int64_t tile, const char *what) {
  int64_t next = 0, chunks = 0;
  while (next < extent && chunks <= extent) {
    next += tile;
    ++chunks;
  }
  require(next == extent, what);
  return chunks;
}

// The first tiles have one iteration more than the last ones; the largest has
// the size that was asked for.
void Replay::balanced(int64_t extent, int64_t tile) {
  int64_t tiles = (extent + tile - 1) / tile, covered = 0, largest = 0;
  for (int64_t i = 0; i < tiles; ++i) {
    int64_t size = extent / tiles + (i < extent % tiles);
    largest = std::max(largest, size);
    covered += size;
  }
  require(covered == extent, "register tiles do not cover their loop");
  require(largest == tile, "no register tile has the size asked for");
}

void Replay::workers(int64_t chunks) {
  int64_t count = take(Decision::MaxParallelism, "");
  int64_t most = std::min(chunks, target.threads);
  require(count <= most, "more workers than threads or chunks");
  require(count <= 16 || count == most || (count & (count - 1)) == 0,
          "a number of workers that is not offered");
}

void Replay::chunkCount(int64_t chunks, bool isLeast) {
  require(chunks <= kMostChunks || isLeast, "too many chunks");
}

void Replay::accumulators(int64_t row, int64_t width) {
  int64_t needed = width == 1 ? row + 2 : row * width + row + 1;
  require(needed <= registers, "the register tile does not fit the registers");
}

// f, h, w | h, f, w | h, w, f: not the same as an earlier one.
LoopOrder Replay::order(int64_t panels, int64_t rows, int64_t tiles) {
  int64_t value = take(Decision::LoopOrder, "");
  bool differs = panels > 1 && (value == 1 ? rows > 1 : tiles > 1);
  require(value <= 2 && (value == 0 || differs),
          "an order of loops that are not there");
  return LoopOrder(value);
}

void Replay::prefetch(bool severalPasses) {
  int64_t value = take(Decision::Prefetch, "");
  require(value <= (severalPasses ? 1 : 0),
          "a prefetch of panels that are passed over once");
}

bool Replay::packable() const {
  return std::all_of(
      task.operands.begin(), task.operands.end(), [](const Operand &operand) {
        return operand.isConstant ||
               (operand.role != Role::Weight && operand.role != Role::Bias);
      });
}

int64_t Replay::leastTile(int64_t extent, int64_t outer) {
  for (int64_t tile = 1; tile < extent; ++tile)
    if (extent % tile == 0 && outer * (extent / tile) <= kMostChunks)
      return tile;
  return extent;
}

void Replay::contraction() {
  int64_t joined = take(Decision::JoinedGroups, "");
  bool isConv = task.kind == TaskKind::Conv;
  if (joined > (isConv ? task.groups : 1))
    return require(false, "more joined groups than groups");
  Result<ContractionShape> found = ContractionShape::of(task, joined);
  if (!found)
    return require(false, "no contraction");
  const ContractionShape &shape = *found;
  if (joined > 1) {
    int64_t separate = shape.groupFilters / joined;
    require((shape.groupFilters + lanes - 1) / lanes <=
                kMostJoinedWork * ((separate + lanes - 1) / lanes),
            "joined groups are mostly zeros");
  }
  const Operand *bias = task.find(Role::Bias);
  require(!bias || bias->isConstant, "the bias is not constant");

  // Panels of a group: whole ones go to the output, a last one that the output
  // has no room for passes through the worker's scratch.
  int64_t room = shape.panelRoom(task);
  int64_t row = take(Decision::RegisterRow, "f");
  int64_t vectors = (room + lanes - 1) / lanes;
  int64_t panels = (vectors + row - 1) / row;
  require(row <= vectors, "a panel of more than all filters");
  int64_t whole = room / (row * lanes);
  bool ragged = panels > whole;
  require(!ragged || task.groups % joined == 0,
          "a last group that is incomplete and ragged");
  require(!ragged || whole * row * lanes < shape.groupFilters,
          "a ragged panel without columns");
  int64_t written = ragged ? shape.filters : shape.groups * whole * row * lanes;
  if (ragged && shape.outputFilters % lanes == 0)
    written = shape.outputFilters; // zeros
  require(written >= shape.outputFilters,
          "lanes behind the filters are not written");
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra && !shape.isScalar(operand) &&
        shape.channelAxis(operand) < 0 && operand.type.layout == Layout::Nhwc)
      require(!operand.isConstant &&
                  operand.type.channelStride >= shape.outputFilters,
              "an epilogue operand is read beyond its end");

  int64_t loop = shape.height > 1 ? shape.height : shape.width;
  int64_t outer = shape.images * shape.groups;
  int64_t tilePanels = std::max<int64_t>(1, whole);
  int64_t chunkRows = take(Decision::ParallelTile, "rows");
  int64_t chunkPanels = take(Decision::ParallelTile, "f");
  int64_t rowChunks =
      cut(loop, chunkRows, "chunks do not cover the rows") * outer;
  int64_t chunks =
      cut(tilePanels, chunkPanels, "chunks do not cover the panels") *
      rowChunks;
  chunkCount(rowChunks, chunkRows == loop);
  chunkCount(chunks, chunkPanels == tilePanels);
  if (ragged) {
    int64_t pixels = chunkRows * (shape.height > 1 ? shape.width : 1);
    require(4 * pixels * row * lanes <= kMostL2s * target.l2Bytes ||
                chunkRows == leastTile(loop, outer),
            "too much scratch a worker");
  }
  int64_t width = shape.height > 1 ? shape.width : chunkRows;
  int64_t tile = take(Decision::RegisterTile, "w");
  balanced(width, tile);
  accumulators(row, tile);
  int64_t widthTiles = (width + tile - 1) / tile;
  int64_t lines = shape.height > 1 ? chunkRows : 1;
  LoopOrder loops = order(chunkPanels, lines, widthTiles);
  int64_t outerDepth = shape.reductions[0].extent;
  int64_t pass = take(Decision::CacheTile, "depth");
  cut(outerDepth, pass, "passes do not cover the depth");
  require(pass == outerDepth || pass > 1, "a pass of one step");
  require(pass == outerDepth || chunkPanels * lines * widthTiles > 1,
          "passes over a single register tile");

  int64_t place = take(Decision::EpiloguePlace, "");
  int64_t operations = (1 + epilogueOperations(task)) * row;
  require(place <= 1, "no place for the epilogue");
  if (place == int64_t(EpiloguePlace::RowLoop))
    require(tile > 1, "a loop over one row");
  else
    require(operations * tile <= kMostOperations || tile == 1,
            "the epilogue is too much code");

  auto prologue = Prologue(take(Decision::Prologue, ""));
  int64_t weights = shape.weightPerImage ? shape.images : 1;
  if (!shape.weightStrides.empty()) {
    bool inPlace = prologue == Prologue::None && shape.weightStrides[2] == 1;
    int64_t bytes = 4 * weights * vectors * lanes * shape.depth();
    require(inPlace || (prologue == Prologue::PackWeights &&
                        bytes <= kMostSharedBytes),
            "the right operand is not in panels");
  } else if (task.find(Role::InputScale)) {
    scaledInput(shape, prologue);
  } else {
    require(prologue == Prologue::None, "a prologue of nothing");
  }
  bool again = (loops == LoopOrder::RowsOuter ? 1 : lines) * widthTiles > 1;
  int64_t current = loops == LoopOrder::PixelsOuter ? chunkPanels : 1;
  bool streams = shape.weightStrides.empty() &&
                 prologue != Prologue::ScaleWeights &&
                 weights * shape.groups * panels > current;
  prefetch(again && streams);
  workers(chunks);
}

void Replay::scaledInput(const ContractionShape &shape, Prologue prologue) {
  const BufferType &in = task.find(Role::Input)->type;
  bool pixelwise = task.groups == 1 && shape.reductions.size() == 1 &&
                   shape.reductions[0].extent == in.dims[1];
  for (const Window &w : task.windows)
    pixelwise &= w.kernel == 1 && w.padBegin == 0 && w.padEnd == 0;
  require(pixelwise, "a scale per channel of a window");
  if (prologue == Prologue::ScaleWeights)
    return require(in.dims[0] == 1, "one scale a batch of images");
  require(prologue == Prologue::ScaleInput, "nobody scales the input");
  require(shape.reductions[0].inputStride == 1 && in.dims[1] % lanes == 0,
          "the scaled input is not made of whole vectors");
}

void Replay::winograd(bool staged) {
  if (task.kind != TaskKind::Conv || task.windows.size() != 2)
    return require(false, "not a convolution");
  const BufferType &in = task.find(Role::Input)->type;
  bool fits = task.groups == 1 && packable() && !task.find(Role::InputScale);
  for (const Window &w : task.windows)
    fits &= w.kernel == 3 && w.stride == 1 && w.dilation == 1;
  for (const BufferType *type : {&in, &out})
    fits &= type->layout == Layout::Nhwc && type->channelStride % lanes == 0;
  for (const Operand &operand : task.operands)
    fits &= operand.role != Role::Extra || isShaped(operand);
  if (!fits)
    return require(false, "not a 3x3 window of whole vectors");

  int64_t form = take(Decision::WinogradTile, "");
  require(form <= 1, "neither F(2x2) nor F(4x4)");
  int64_t outputs = form == 0 ? 2 : 4;
  require(out.dims[2] >= outputs && out.dims[3] >= outputs,
          "the image is smaller than a tile");
  int64_t images = out.dims[0];
  int64_t vectors = out.channelStride / lanes;
  int64_t row = take(Decision::RegisterRow, "f");
  cut(vectors, row, "panels do not cover the filters");
  int64_t tileRows = (out.dims[2] + outputs - 1) / outputs;
  int64_t tileColumns = (out.dims[3] + outputs - 1) / outputs;
  int64_t products = (outputs + 2) * (outputs + 2);
  int64_t tileFloats = products * (in.channelStride + out.channelStride);
  int64_t width = take(Decision::RegisterTile, "w");
  accumulators(row, width);
  if (staged) {
    int64_t tiles = images * tileRows * tileColumns;
    require(width <= tiles, "the register tile is mostly padding");
    require(4 * tiles * tileFloats <= kMostSharedBytes,
            "too much shared scratch");
    int64_t productChunks = cut(products, take(Decision::ParallelTile, "x"),
                                "chunks do not cover the products");
    int64_t chunkVectors = take(Decision::ParallelTile, "f");
    int64_t outputChunks =
        images * cut(vectors, chunkVectors, "chunks do not cover the filters");
    chunkCount(outputChunks, chunkVectors == vectors);
    prefetch(width < tiles);
    return workers(std::max({images * tileRows, productChunks, outputChunks}));
  }
  int64_t blockRows = take(Decision::TileRows, "");
  int64_t chunks =
      images * cut(tileRows, blockRows, "blocks do not cover the tiles");
  require(width <= blockRows * tileColumns,
          "the register tile is mostly padding");
  // The last row of tiles ends with the image: it may write rows of its
  // neighbour again, from the same chunk only.
  int64_t overlap = tileRows * outputs - out.dims[2];
  require(overlap == 0 || blockRows > 1 || tileRows == 1,
          "two chunks write the same rows");
  require(4 * blockRows * tileColumns * tileFloats <= kMostL2s * target.l2Bytes,
          "too much scratch a worker");
  prefetch(width < blockRows * tileColumns);
  chunkCount(chunks, false);
  workers(chunks);
}

void Replay::window() {
  const BufferType &in = task.find(Role::Input)->type;
  const Window &wh = task.windows[0], &ww = task.windows[1];
  bool clips = task.kind == TaskKind::AveragePool && !task.countIncludePad &&
               (wh.padBegin || wh.padEnd || ww.padBegin || ww.padEnd);
  if (in.layout != Layout::Nhwc || out.layout != Layout::Nhwc ||
      in.channelStride % lanes || in.channelStride != out.channelStride ||
      clips || !packable())
    return require(false, "no window of whole vectors");
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra && !isShaped(operand))
      require(operand.isConstant && operand.type.dims.size() == 4 &&
                  operand.type.dims[1] == out.dims[1] &&
                  operand.type.elementCount() == out.dims[1],
              "an epilogue operand that broadcasts");
  int64_t taps = wh.kernel * ww.kernel;
  require(taps <= kMostTaps, "too many taps");
  int64_t blocks = out.channelStride / lanes;
  int64_t chunkRows = take(Decision::ParallelTile, "rows");
  int64_t chunkBlocks = take(Decision::ParallelTile, "c");
  int64_t rowChunks =
      out.dims[0] * cut(out.dims[2], chunkRows, "chunks do not cover the rows");
  int64_t chunks =
      rowChunks * cut(blocks, chunkBlocks, "chunks do not cover the channels");
  chunkCount(rowChunks, chunkRows == out.dims[2]);
  chunkCount(chunks, chunkBlocks == blocks);
  int64_t h = take(Decision::RegisterTile, "h");
  int64_t w = take(Decision::RegisterTile, "w");
  int64_t heightTiles =
      cut(chunkRows, h, "register tiles do not cover a chunk");
  balanced(out.dims[3], w);
  bool single = h * w == 1;
  require(single || h * w + 2 <= registers,
          "the register tile does not fit the registers");
  require(single ||
              h * w * (2 * taps + epilogueOperations(task)) <= kMostOperations,
          "the unrolled window is too much code");
  order(chunkBlocks, heightTiles, (out.dims[3] + w - 1) / w);
  workers(chunks);
}

void Replay::rows() {
  if (out.dims.empty() || task.operands[0].type != out)
    return require(false, "the output is of another type");
  int64_t count = out.elementCount() / out.dims.back();
  int64_t tile = take(Decision::ParallelTile, "rows");
  int64_t chunks = cut(count, tile, "chunks do not cover the rows");
  chunkCount(chunks, tile == count);
  int64_t sums = take(Decision::Accumulators, "");
  require(sums == 1 || sums * lanes <= out.dims.back(),
          "more sums than vectors of a row");
  require(sums == 1 || 2 * sums <= registers, "sums do not fit the registers");
  workers(chunks);
}

void Replay::attention() {
  const std::vector<int64_t> &k = task.operands[1].type.dims;
  int64_t heads = task.attention.heads;
  int64_t keys = k[k.size() - 2], count = out.dims[1];
  int64_t queryElements = task.operands[0].type.elementCount();
  int64_t depth = queryElements / (out.dims[0] * count * heads);
  int64_t block = take(Decision::ParallelTile, "rows");
  int64_t perBlock = out.dims[0] * heads;
  int64_t chunks =
      perBlock * cut(count, block, "blocks do not cover the queries");
  int64_t keyVectors = (keys + lanes - 1) / lanes;
  int64_t depthVectors = (depth + lanes - 1) / lanes;
  int64_t valueVectors = (out.dims[2] / heads + lanes - 1) / lanes;
  int64_t bytes =
      4 * block * (depthVectors + keyVectors + valueVectors) * lanes;
  chunkCount(chunks, block == count);
  require(bytes <= kMostL2s * target.l2Bytes ||
              block == leastTile(count, perBlock),
          "too much scratch a worker");
  int64_t keyRow = take(Decision::RegisterRow, "keys");
  int64_t valueRow = take(Decision::RegisterRow, "f");
  int64_t width = take(Decision::RegisterTile, "w");
  require(keyRow <= keyVectors, "a panel of more than all keys");
  cut(valueVectors, valueRow, "panels do not cover the head");
  require(width <= block, "the register tile is mostly padding");
  accumulators(keyRow, width);
  accumulators(valueRow, width);
  workers(chunks);
}

void Replay::globalPool() {
  const BufferType &in = task.operands[0].type;
  if (in.layout != Layout::Nhwc || in.dims[1] % lanes || task.find(Role::Extra))
    return require(false, "channels are not whole vectors");
  require(out.elementCount() == in.dims[0] * in.dims[1],
          "the output is padded");
  int64_t row = take(Decision::RegisterRow, "c");
  require(row == 1 || 2 * row + 1 <= registers,
          "sums do not fit the registers");
  workers(in.dims[0] *
          cut(in.dims[1] / lanes, row, "groups do not cover the channels"));
}

void Replay::pointwise() {
  if (out.layout != Layout::Nhwc || out.channelStride % lanes)
    return require(false, "the output is not nhwc");
  for (const Operand &operand : task.operands) {
    const BufferType &type = operand.type;
    bool same = type.layout == Layout::Nhwc && type.dims == out.dims &&
                type.channelStride >= out.channelStride && !operand.isConstant;
    bool vector = type.layout == Layout::Plain && type.dims.size() == 4 &&
                  type.dims[1] == out.dims[1] &&
                  type.dims[2] * type.dims[3] == 1;
    int64_t held = out.dims[0] * out.channelStride;
    if (operand.isConstant) // packed with its padding
      held = out.dims[1];
    require(same || (vector && type.elementCount() == held),
            "an operand that broadcasts");
  }
  int64_t tile = take(Decision::ParallelTile, "rows");
  int64_t chunks =
      out.dims[0] * cut(out.dims[2], tile, "chunks do not cover the rows");
  chunkCount(chunks, tile == out.dims[2]);
  workers(chunks);
}

void Replay::copy() {
  const BufferType &in = task.operands[0].type;
  bool turns = in.layout != out.layout;
  if (in.dims.size() != 4 || in.dtype != DType::F32 ||
      (turns ? (in.channelStride + out.channelStride) % lanes != 0
             : in.channelStride != out.channelStride))
    return require(false, "rows are not contiguous");
  int64_t count =
      turns || in.layout == Layout::Nhwc ? in.dims[2] : in.dims[1] * in.dims[2];
  int64_t tile = take(Decision::ParallelTile, "rows");
  int64_t chunks =
      in.dims[0] * cut(count, tile, "chunks do not cover the rows");
  chunkCount(chunks, tile == count);
  workers(chunks);
}

void Replay::direct() {
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::MatMul:
  case TaskKind::BatchMatMul:
    return contraction();
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return window();
  case TaskKind::Softmax:
  case TaskKind::Normalize:
    return rows();
  case TaskKind::Attention:
    return attention();
  case TaskKind::GlobalPool:
    return globalPool();
  case TaskKind::Pointwise:
    return pointwise();
  case TaskKind::Copy:
    return copy();
  case TaskKind::Concat:
  case TaskKind::Compute:
    return require(false, "a kind with the plain form only");
  }
}

std::string Replay::run() {
  if (schedule.taskKey != task.key())
    return "a schedule of another task";
  int64_t algorithm = take(Decision::Algorithm, "");
  bool padded = out.layout == Layout::Nhwc && out.channelStride != out.dims[1];
  if (padded && algorithm != int64_t(Algorithm::Plain))
    for (const PointOp &point : task.points)
      require(point.op != Op::Div, "a division in the padding");
  switch (algorithm) {
  case int64_t(Algorithm::Direct):
    direct();
    break;
  case int64_t(Algorithm::WinogradBlocked):
  case int64_t(Algorithm::WinogradStaged):
    winograd(algorithm == int64_t(Algorithm::WinogradStaged));
    break;
  case int64_t(Algorithm::Plain):
    break;
  default:
    require(false, "no such algorithm");
  }
  if (reason.empty())
    for (size_t i = 0; i < used.size(); ++i)
      require(used[i], "a decision too many or chosen twice");
  return reason;
}

std::string checkSchedule(const Task &task, const Target &target,
                          const Schedule &schedule) {
  return Replay(task, target, schedule).run();
}

} // namespace tlm
