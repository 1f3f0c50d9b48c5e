//===- WinogradRule.cpp - F(4x4,3x3), blocked and staged ------------------===//

#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

namespace {
struct Tiles {
  int64_t images = 1, rows = 1, columns = 1;
  int64_t channels = 1, filters = 1; ///< with their padding
  bool overlapping =
      false; ///< the last row of tiles covers some of its neighbour

  explicit Tiles(const Task &task) {
    const BufferType &in = task.find(Role::Input)->type;
    const BufferType &out = task.output().type;
    images = out.dims[0];
    rows = (out.dims[2] + 3) / 4;
    columns = (out.dims[3] + 3) / 4;
    channels = in.channelStride;
    filters = out.channelStride;
    overlapping = out.dims[2] % 4 != 0;
  }
  /// 36 values of the input and of the product for every tile.
  int64_t scratchBytes(int64_t tiles) const {
    return 4 * 36 * tiles * (channels + filters);
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
  if (out.dims[2] < 4 || out.dims[3] < 4)
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

Status winogradBlockedExists(const RuleInput &input) {
  TLM_TRY_STATUS(winogradExists(input));
  if (tileRows(input, Tiles(input.task)).empty())
    return makeError("winograd: no block of tile rows is within the limits");
  return success();
}

Status winogradStagedExists(const RuleInput &input) {
  TLM_TRY_STATUS(winogradExists(input));
  Tiles tiles(input.task);
  if (tiles.scratchBytes(tiles.images * tiles.rows * tiles.columns) >
      input.limits.sharedBytes)
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
  Tiles tiles(input.task);
  int64_t row = decideRow(input, tiles, ask);
  int64_t rows = ask(Decision::TileRows, "", tileRows(input, tiles));
  int64_t blockTiles = rows * tiles.columns;
  int64_t tile = decideTile(input, row, blockTiles, ask);
  ask.prefetch(tile < blockTiles);
  ask.maxParallelism(input, tiles.images * (tiles.rows / rows));
}

void decideWinogradStaged(const RuleInput &input, Asker &ask) {
  Tiles tiles(input.task);
  int64_t vectors = tiles.filters / input.lanes();
  int64_t row = decideRow(input, tiles, ask);
  int64_t allTiles = tiles.images * tiles.rows * tiles.columns;
  int64_t tile = decideTile(input, row, allTiles, ask);
  int64_t matrices = ask(Decision::ParallelTile, "x", divisors(36));
  int64_t chunkVectors =
      ask(Decision::ParallelTile, "f",
          chunkTiles(vectors, input.limits.chunks / tiles.images));
  ask.prefetch(tile < allTiles);
  ask.maxParallelism(input,
                     std::max({tiles.images * tiles.rows, 36 / matrices,
                               tiles.images * (vectors / chunkVectors)}));
}

} // namespace tlm
