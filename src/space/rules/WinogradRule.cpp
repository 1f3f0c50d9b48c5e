//===- WinogradRule.cpp - F(2x2,3x3) and F(4x4,3x3), blocked and staged ---===//

#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

namespace {
struct Tiles {
  int64_t points = 6; ///< rows and columns of an input tile
  int64_t images = 1, rows = 1, columns = 1;
  int64_t channels = 1, filters = 1; ///< with their padding
  bool overlapping =
      false; ///< the last row of tiles covers some of its neighbour

  Tiles(const Task &task, WinogradTile tile) {
    int64_t outputs = tileOutputs(tile);
    points = outputs + 2;
    const BufferType &in = task.find(Role::Input)->type;
    const BufferType &out = task.output().type;
    images = out.dims[0];
    rows = (out.dims[2] + outputs - 1) / outputs;
    columns = (out.dims[3] + outputs - 1) / outputs;
    channels = in.channelStride;
    filters = out.channelStride;
    overlapping = out.dims[2] % outputs != 0;
  }
  int64_t products() const { return points * points; }
  /// The values of the input and of the products for every tile.
  int64_t scratchBytes(int64_t tiles) const {
    return 4 * products() * tiles * (channels + filters);
  }
};
} // namespace

static Status winogradExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Conv)
    return makeError("winograd: another kind of task");
  if (!input.options.approximate)
    return makeError("winograd: only exact algorithms are wanted");
  for (const Window &w : task.windows)
    if (w.kernel != 3 || w.stride != 1 || w.dilation != 1)
      return makeError("winograd: the window is not 3x3 with stride 1");
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  TLM_TRY_STATUS(checkConstants(task));
  if (task.groups != 1 || task.find(Role::InputScale))
    return makeError("winograd: groups or a scaled input");
  if (in.layout != Layout::Nhwc || out.layout != Layout::Nhwc ||
      in.channelStride % input.lanes() || out.channelStride % input.lanes())
    return makeError("winograd: buffers are not nhwc");
  if (out.dims[2] < 2 || out.dims[3] < 2)
    return makeError("winograd: the image is smaller than a tile");
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra &&
        !(operand.type.layout == Layout::Nhwc &&
          operand.type.dims == out.dims && !operand.isConstant &&
          operand.type.channelStride >= out.channelStride))
      return makeError("winograd: an epilogue operand is not shaped as the "
                       "output");
  return success();
}

/// Rows of tiles a block: they share its scratch.
static std::vector<int64_t> tileRows(const RuleInput &input,
                                     const Tiles &tiles) {
  std::vector<int64_t> choices = divisors(tiles.rows);
  std::erase_if(choices, [&](int64_t rows) {
    // Rows of tiles that overlap must be in one chunk.
    return (tiles.overlapping && rows == 1 && tiles.rows > 1) ||
           tiles.scratchBytes(rows * tiles.columns) >
               input.limits.workerBytes ||
           tiles.images * tiles.rows / rows > input.limits.chunks;
  });
  return choices;
}

/// Those that fit the image and the limits.
static std::vector<int64_t> tileChoices(const RuleInput &input,
                                        bool (*fits)(const RuleInput &,
                                                     const Tiles &)) {
  const BufferType &out = input.task.output().type;
  std::vector<int64_t> choices;
  for (WinogradTile tile : {WinogradTile::F2x2, WinogradTile::F4x4})
    if (std::min(out.dims[2], out.dims[3]) >= tileOutputs(tile) &&
        fits(input, Tiles(input.task, tile)))
      choices.push_back(int64_t(tile));
  return choices;
}

static Tiles decideTiles(const RuleInput &input,
                         bool (*fits)(const RuleInput &, const Tiles &),
                         Asker &ask) {
  return {input.task, WinogradTile(ask(Decision::WinogradTile, "",
                                       tileChoices(input, fits)))};
}

static bool fitsBlocked(const RuleInput &input, const Tiles &tiles) {
  return !tileRows(input, tiles).empty();
}

static bool fitsStaged(const RuleInput &input, const Tiles &tiles) {
  return tiles.scratchBytes(tiles.images * tiles.rows * tiles.columns) <=
         input.limits.sharedBytes;
}

Status winogradBlockedExists(const RuleInput &input) {
  TLM_TRY_STATUS(winogradExists(input));
  if (tileChoices(input, fitsBlocked).empty())
    return makeError("winograd: no block of tile rows is within the limits");
  return success();
}

Status winogradStagedExists(const RuleInput &input) {
  TLM_TRY_STATUS(winogradExists(input));
  if (tileChoices(input, fitsStaged).empty())
    return makeError("winograd: the scratch of all tiles is too large");
  return success();
}

static int64_t decideRow(const RuleInput &input, const Tiles &tiles,
                         Asker &ask) {
  return ask(
      Decision::RegisterRow, "f",
      registerRows(tiles.filters / input.lanes(), input.limits.registers));
}

/// Tiles are padded to whole register tiles: every width is its own kernel.
static int64_t decideTile(const RuleInput &input, int64_t row, int64_t tiles,
                          Asker &ask) {
  int64_t most = std::min(tiles, mostTileWidth(row, input.limits.registers));
  std::vector<int64_t> widths;
  for (int64_t width = 1; width <= most; ++width)
    widths.push_back(width);
  return ask(Decision::RegisterTile, "w", widths);
}

void decideWinogradBlocked(const RuleInput &input, Asker &ask) {
  Tiles tiles = decideTiles(input, fitsBlocked, ask);
  int64_t row = decideRow(input, tiles, ask);
  int64_t rows = ask(Decision::TileRows, "", tileRows(input, tiles));
  int64_t blockTiles = rows * tiles.columns;
  int64_t tile = decideTile(input, row, blockTiles, ask);
  ask.prefetch(tile < blockTiles);
  ask.maxParallelism(input, tiles.images * (tiles.rows / rows));
}

void decideWinogradStaged(const RuleInput &input, Asker &ask) {
  Tiles tiles = decideTiles(input, fitsStaged, ask);
  int64_t vectors = tiles.filters / input.lanes();
  int64_t row = decideRow(input, tiles, ask);
  int64_t allTiles = tiles.images * tiles.rows * tiles.columns;
  int64_t tile = decideTile(input, row, allTiles, ask);
  int64_t matrices =
      ask(Decision::ParallelTile, "x", divisors(tiles.products()));
  int64_t chunkVectors =
      ask(Decision::ParallelTile, "f",
          chunkTiles(vectors, input.limits.chunks / tiles.images));
  ask.prefetch(tile < allTiles);
  ask.maxParallelism(
      input, std::max({tiles.images * tiles.rows, tiles.products() / matrices,
                       tiles.images * (vectors / chunkVectors)}));
}

} // namespace tlm
