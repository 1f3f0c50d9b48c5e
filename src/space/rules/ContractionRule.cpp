//===- ContractionRule.cpp - convolution and products of matrices ---------===//
//
// lower/ConvTemplate.cpp: any stride, dilation, kernel and groups, NHWC or the
// NCHW of a network's input; matrices with constant right operands or not.
//
//===----------------------------------------------------------------------===//

#include "space/CodeSize.h"
#include "space/ContractionShape.h"
#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

/// The epilogue reads whole vectors of its operands.
static Status checkExtras(const RuleInput &input,
                          const ContractionShape &shape) {
  for (const Operand &operand : input.task.operands) {
    if (operand.role != Role::Extra || shape.isScalar(operand) ||
        shape.channelAxis(operand) >= 0 || operand.type.layout != Layout::Nhwc)
      continue;
    if (operand.isConstant || operand.type.channelStride < shape.outputFilters)
      return makeError("contraction: an epilogue operand has no lanes behind "
                       "its channels");
  }
  return success();
}

static bool isRagged(const RuleInput &input, const ContractionShape &shape) {
  return shape.panelRoom(input.task) % input.lanes() != 0;
}

/// Lanes behind the filters must become finite: whole panels cover them, or
/// the stage of the ragged columns does.
static bool writesPadding(const RuleInput &input,
                          const ContractionShape &shape) {
  if (shape.outputFilters == shape.filters)
    return true;
  return shape.outputFilters % input.lanes() == 0 &&
         (isRagged(input, shape) ||
          shape.groups * shape.panelRoom(input.task) >= shape.outputFilters);
}

static int64_t packedBytes(const RuleInput &input,
                           const ContractionShape &shape) {
  int64_t lanes = shape.groupVectors(input.task, input.lanes()) * input.lanes();
  return 4 * (shape.weightPerImage ? shape.images : 1) * lanes * shape.depth();
}

static std::vector<int64_t> prologues(const RuleInput &input,
                                      const ContractionShape &shape) {
  std::vector<int64_t> forms;
  if (!shape.weightStrides.empty()) {
    if (shape.weightStrides[2] == 1)
      forms.push_back(int64_t(Prologue::None));
    if (packedBytes(input, shape) <= input.limits.sharedBytes)
      forms.push_back(int64_t(Prologue::PackWeights));
    return forms;
  }
  if (!input.task.find(Role::InputScale))
    return {int64_t(Prologue::None)};
  for (const Window &window : input.task.windows)
    if (window.kernel != 1 || window.padBegin || window.padEnd)
      return forms;
  const BufferType &in = input.task.find(Role::Input)->type;
  // The scale differs from image to image; weights are the same for all.
  if (in.dims[0] == 1)
    forms.push_back(int64_t(Prologue::ScaleWeights));
  if (in.layout == Layout::Nhwc && in.dims[1] % input.lanes() == 0)
    forms.push_back(int64_t(Prologue::ScaleInput));
  return forms;
}

Status contractionExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Conv && task.kind != TaskKind::MatMul &&
      task.kind != TaskKind::BatchMatMul)
    return makeError("contraction: another kind of task");
  if (const Operand *bias = task.find(Role::Bias); bias && !bias->isConstant)
    return makeError("contraction: a bias computed at run time");
  TLM_TRY(ContractionShape shape, ContractionShape::of(task));
  if (task.find(Role::InputScale) &&
      (task.groups > 1 || shape.reductions.size() != 1))
    return makeError("contraction: a scaled input with groups or a window");
  if (prologues(input, shape).empty())
    return makeError(task.find(Role::InputScale)
                         ? "contraction: a scaled input with a window or "
                           "ragged channels"
                         : "contraction: a right operand that is too large "
                           "to pack");
  if (!writesPadding(input, shape))
    return makeError("contraction: lanes behind the filters are not written");
  return checkExtras(input, shape);
}

bool transposesForFewRows(const RuleInput &input) {
  if (input.task.kind != TaskKind::MatMul &&
      input.task.kind != TaskKind::BatchMatMul)
    return false;
  Result<ContractionShape> shape = ContractionShape::of(input.task);
  return shape && !shape->weightStrides.empty() &&
         shape->weightStrides[2] != 1 && shape->width < 8;
}

/// Groups that are joined to one.
static std::vector<int64_t> joinedGroups(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Conv)
    return {1};
  int64_t filters = task.output().type.dims[1] / task.groups;
  auto vectors = [&](int64_t joined) {
    return (joined * filters + input.lanes() - 1) / input.lanes();
  };
  std::vector<int64_t> choices = {1};
  for (int64_t joined = 2;
       joined <= task.groups &&
       vectors(joined) <= input.limits.joinedWork * vectors(1);
       ++joined) {
    Result<ContractionShape> shape = ContractionShape::of(task, joined);
    // The last joined group may be incomplete, but not ragged, too.
    if (shape && writesPadding(input, *shape) &&
        (task.groups % joined == 0 || !isRagged(input, *shape)))
      choices.push_back(joined);
  }
  return choices;
}

/// Vectors of a panel. Where they do not divide those of a group, its last
/// panel is ragged.
static std::vector<int64_t> panelRows(const RuleInput &input,
                                      const ContractionShape &shape) {
  int64_t room = shape.panelRoom(input.task);
  int64_t vectors = shape.groupVectors(input.task, input.lanes());
  bool complete = input.task.groups % shape.joinedGroups == 0;
  std::vector<int64_t> rows;
  for (int64_t row = 1;
       row <= vectors && mostTileWidth(row, input.limits.registers) > 0;
       ++row) {
    int64_t panel = row * input.lanes(), whole = room / panel;
    bool ragged = whole * panel < vectors * input.lanes();
    if (!ragged || (complete && whole * panel < shape.groupFilters))
      rows.push_back(row);
  }
  return rows;
}

/// Iterations of the outermost reduction in a pass over the panels of a chunk.
static std::vector<int64_t> depthTiles(const ContractionShape &shape,
                                       int64_t tilesOfChunk) {
  int64_t extent = shape.reductions[0].extent;
  std::vector<int64_t> tiles = {extent};
  if (tilesOfChunk > 1)
    tiles = divisors(extent);
  if (tiles.size() > 1)
    tiles.erase(tiles.begin()); // one step is no reduction
  return tiles;
}

void decideContraction(const RuleInput &input, Asker &ask) {
  const Limits &limits = input.limits;
  int64_t lanes = input.lanes();
  int64_t joined = ask(Decision::JoinedGroups, "", joinedGroups(input));
  Result<ContractionShape> found = ContractionShape::of(input.task, joined);
  TLM_CHECK(found);
  const ContractionShape &shape = *found;
  int64_t vectors = shape.groupVectors(input.task, lanes);
  int64_t row = ask(Decision::RegisterRow, "f", panelRows(input, shape));
  int64_t panels = (vectors + row - 1) / row;
  int64_t whole = shape.panelRoom(input.task) / (row * lanes);

  // Chunks: images, rows of pixels, groups, panels of filters.
  bool byHeight = shape.height > 1;
  int64_t rows = byHeight ? shape.height : shape.width;
  std::vector<int64_t> rowTiles =
      chunkTiles(rows, limits.chunks / (shape.images * shape.groups));
  // The columns of a ragged panel pass through the worker's scratch.
  if (int64_t rowBytes = 4 * row * lanes * (byHeight ? shape.width : 1);
      whole < panels)
    keepWithin(rowTiles, limits.workerBytes / rowBytes);
  int64_t chunkRows = ask(Decision::ParallelTile, "rows", rowTiles);
  int64_t rowChunks = shape.images * shape.groups * (rows / chunkRows);
  int64_t wholePanels = std::max<int64_t>(1, whole);
  int64_t chunkPanels = ask(Decision::ParallelTile, "f",
                            chunkTiles(wholePanels, limits.chunks / rowChunks));

  int64_t width = byHeight ? shape.width : chunkRows;
  int64_t tile =
      ask(Decision::RegisterTile, "w",
          balancedTileSizes(width, mostTileWidth(row, limits.registers)));
  int64_t tilesOfRow = (width + tile - 1) / tile;
  int64_t lines = byHeight ? chunkRows : 1;
  LoopOrder order = ask.loopOrder(chunkPanels, lines, tilesOfRow);
  ask(Decision::CacheTile, "depth",
      depthTiles(shape, chunkPanels * lines * tilesOfRow));

  std::vector<int64_t> places;
  int64_t unrolled = row * tile * (1 + epilogueOperations(input.task));
  if (unrolled <= limits.unrolledOperations || tile == 1)
    places.push_back(int64_t(EpiloguePlace::RegisterTile));
  if (tile > 1)
    places.push_back(int64_t(EpiloguePlace::RowLoop));
  ask(Decision::EpiloguePlace, "", places);

  auto prologue =
      Prologue(ask(Decision::Prologue, "", prologues(input, shape)));
  // Only constants are prefetched, while the panels before are passed over.
  int64_t allPanels =
      (shape.weightPerImage ? shape.images : 1) * shape.groups * panels;
  int64_t current = order == LoopOrder::PixelsOuter ? chunkPanels : 1;
  int64_t passes =
      order == LoopOrder::RowsOuter ? tilesOfRow : lines * tilesOfRow;
  ask.prefetch(shape.weightStrides.empty() &&
               prologue != Prologue::ScaleWeights && allPanels > current &&
               passes > 1);
  ask.maxParallelism(input, rowChunks * (wholePanels / chunkPanels));
}

} // namespace tlm
