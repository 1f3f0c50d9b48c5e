//===- ConvTemplate.cpp - convolution and matmul as a contraction ---------===//
//
// The input is read through an overlapping strided view, so every convolution
// (any stride, NHWC or the NCHW of a network's input, 1x1 and 3-channel stems
// included) and every matmul is one contraction
//
//   O[h, w, f1, f2, f0] += A[h, w, r...] * W[f1, r..., f2, f0]
//
// with f0 = one vector, f2 = register_row vectors, constant weights packed to
// panels [f1][r...][f2][f0]. The accumulator starts as the bias; the epilogue
// is one generic fused into the register tile. A group of a convolution is such
// a contraction over its own channels, a batch of a matmul one with a right
// operand of its own.
//
// A right operand computed at run time is packed into shared scratch by a first
// stage (prologue = pack_weights), or its whole panels are read in place.
//
//===----------------------------------------------------------------------===//

#include "lower/ContractionBuilder.h"
#include "lower/PanelPacking.h"
#include "lower/Text.h"

using namespace tlm;

// The panels of a group come from the group's first filter on, so behind its
// last one stand filters of the next group, or zeros: nobody reads their sums.
void ContractionBuilder::packConstants() {
  payload.packings.resize(task.operands.size());
  const Operand &weight = task.operands[size_t(shape.weight)];
  int64_t groupLanes = groupPanels * panelLanes();
  if (weight.isConstant) {
    Packing packing;
    packing.sourceDims = weight.type.dims;
    if (shape.joinedGroups > 1) {
      packing.transform = WeightTransform::BlockDiagonal;
      packing.blocks = shape.joinedGroups;
      packing.blockFilters = shape.groupFilters / shape.joinedGroups;
    }
    int32_t axis = shape.weightFilterAxis;
    if (shape.weightPerImage)
      packing.dims.push_back({0, shape.images, 1});
    packing.dims.push_back({axis, shape.groups, shape.groupFilters});
    packing.dims.push_back({axis, groupPanels, panelLanes()});
    for (const ReductionDim &dim : shape.reductions)
      for (const PackDim &part : dim.weightParts)
        packing.dims.push_back(part);
    if (pairVectors) {
      PackDim &inner = packing.dims.back(), pair = inner;
      inner = {inner.axis, inner.extent / 2, 2 * inner.scale};
      packing.dims.push_back({axis, pairVectors, lanes / 2});
      packing.dims.push_back({axis, lanes / 2, 1});
      packing.dims.push_back({pair.axis, 2, pair.scale});
    } else {
      packing.dims.push_back({axis, row, lanes});
      packing.dims.push_back({axis, lanes, 1});
    }
    payload.packings[size_t(shape.weight)] = packing;
  }
  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    if (!operand.isConstant ||
        (operand.role != Role::Bias && operand.role != Role::Extra))
      continue;
    if (int axis = shape.channelAxis(operand); axis >= 0) {
      Packing vector;
      vector.sourceDims = operand.type.dims;
      for (int32_t d = 0; d < int32_t(operand.type.dims.size()); ++d)
        if (d == axis) {
          vector.dims.push_back({d, shape.groups, shape.groupFilters});
          vector.dims.push_back({d, groupLanes, 1});
        } else {
          vector.dims.push_back({d, operand.type.dims[size_t(d)], 1});
        }
      payload.packings[i] = vector;
    }
  }
}

std::string ContractionBuilder::chunkOffset(const Panels &run, int64_t image,
                                            int64_t rowStep, int64_t group,
                                            int64_t panel) const {
  std::string text = "0";
  int64_t panelChunks = shape.groups * run.chunks();
  if (image && shape.images > 1)
    text += cat(" + (d0 floordiv ", rowChunks * panelChunks, ") * ", image);
  if (rowStep && rowChunks > 1)
    text += cat(" + ((d0 floordiv ", panelChunks, ") mod ", rowChunks, ") * ",
                chunkRows * rowStep);
  if (group && shape.groups > 1)
    text += cat(" + ((d0 mod ", panelChunks, ") floordiv ", run.chunks(),
                ") * ", group);
  if (panel && run.chunks() > 1)
    text += cat(" + (d0 mod ", run.chunks(), ") * ", run.tile * panel);
  return text;
}

std::string ContractionBuilder::panelOffset(const Panels &run,
                                            int64_t panelFloats,
                                            bool perImage) const {
  int64_t group = groupPanels * panelFloats;
  return cat(run.first * panelFloats, " + ",
             chunkOffset(run, perImage ? shape.groups * group : 0, 0, group,
                         panelFloats));
}

int64_t ContractionBuilder::floatsOf(size_t index) const {
  return payload.packings[index] ? payload.packings[index]->elementCount()
                                 : task.operands[index].type.elementCount();
}

ContractionBuilder::Access
ContractionBuilder::accessOf(const Operand &operand) const {
  if (shape.isScalar(operand))
    return Access::Scalar;
  return shape.channelAxis(operand) >= 0 ? Access::PerFilter
                                         : Access::Activation;
}

std::string ContractionBuilder::extraOffset(const Panels &run,
                                            size_t index) const {
  const Operand &operand = task.operands[index];
  switch (accessOf(operand)) {
  case Access::Scalar:
    return cat(operand.type.origin());
  case Access::PerFilter:
    if (payload.packings[index])
      return panelOffset(run, panelLanes(), false);
    return cat(operand.type.origin() + run.first * panelLanes(), " + ",
               chunkOffset(run, 0, 0, shape.groupFilters, panelLanes()));
  case Access::Activation:
    break;
  }
  std::vector<int64_t> s = shape.activationStrides(operand.type);
  bool spans = shape.spansFilters(operand.type);
  return cat(
      operand.type.origin() + (spans ? run.first * panelLanes() : 0), " + ",
      chunkOffset(run, s[0], byHeight() ? s[1] : s[2],
                  spans ? shape.groupFilters : 0, spans ? panelLanes() : 0));
}

// Stages that pack the right operand into scratch, laid out as a packed
// constant: one for the whole panels where they are not read in place, one for
// the ragged panel; a chunk a batch and panel.
void ContractionBuilder::packRightOperand(bool whole) {
  int64_t wholePanels = shape.filters / panelLanes();
  int64_t count = whole ? wholePanels : groupPanels - wholePanels;
  if (!count)
    return;
  int64_t images = shape.weightPerImage ? shape.images : 1;
  int64_t firstStored = inPlace ? wholePanels : 0;
  int64_t first = whole ? 0 : wholePanels;
  int64_t panelFloats = shape.depth() * panelLanes();
  LoopNest nest;
  std::string image = nest.affine(cat("d0 floordiv ", count), {"%chunk"});
  std::string panel = nest.affine(cat("d0 mod ", count), {"%chunk"});
  PanelCopy copy{
      .source = {argumentName(shape.weight), floatsOf(size_t(shape.weight))},
      .target = {"%scratch", payload.scratchFloats},
      .depthStride = shape.weightStrides[1],
      .columnStride = shape.weightStrides[2],
      .depth = shape.depth(),
      .columns = whole ? panelLanes() : shape.filters % panelLanes(),
      .vectors = row,
      .lanes = lanes};
  int64_t step = panelLanes() * copy.columnStride;
  copy.sourceAt = nest.index(first * step,
                             {{image, shape.weightStrides[0]}, {panel, step}});
  copy.targetAt =
      nest.index((first - firstStored) * panelFloats,
                 {{image, (groupPanels - firstStored) * panelFloats},
                  {panel, panelFloats}});
  packPanel(nest, copy);
  Stage stage;
  stage.name = cat("s", payload.stages.size());
  stage.chunks = images * count;
  stage.body = nest.text();
  payload.stages.push_back(std::move(stage));
}

Result<Payload> ContractionBuilder::build() {
  int64_t vectors = shape.groupVectors(task, lanes);
  row = schedule.get(Decision::RegisterRow, "f", 2);
  groupPanels = (vectors + row - 1) / row;
  tileW = schedule.get(Decision::RegisterTile, "w", 7);
  int64_t rows = byHeight() ? shape.height : shape.width;
  chunkRows = schedule.get(Decision::ParallelTile, "rows", rows);
  Panels whole{.count =
                   std::min(shape.panelRoom(task) / panelLanes(), groupPanels)};
  Panels ragged{
      .first = whole.count, .count = groupPanels - whole.count, .ragged = true};
  if (ragged.count && shape.groups * shape.groupFilters != shape.filters)
    return makeError("joined_groups leaves a last group in a ragged panel");
  if (ragged.count && ragged.first * panelLanes() >= shape.groupFilters)
    return makeError("register_row leaves a ragged panel without columns");
  whole.tile = schedule.get(Decision::ParallelTile, "f",
                            std::max<int64_t>(1, whole.count));
  if (rows % chunkRows || whole.count % whole.tile)
    return makeError("parallel_tile does not divide its loop");
  rowChunks = rows / chunkRows;
  int64_t outerDepth = shape.reductions[0].extent;
  depthTile = schedule.get(Decision::CacheTile, "depth", outerDepth);
  if (outerDepth % depthTile || (depthTile == 1 && outerDepth > 1))
    return makeError("cache_tile does not divide the depth, or is one step");
  passes = outerDepth / depthTile;
  auto prologue = static_cast<Prologue>(
      schedule.get(Decision::Prologue, "", int64_t(Prologue::ScaleWeights)));
  bool scaled = task.find(Role::InputScale) != nullptr;
  if (scaled && shape.groups > 1)
    return makeError("contraction: a scaled input of a grouped convolution");
  payload.maxParallelism = schedule.get(Decision::MaxParallelism, "", 1);
  pairVectors = pairsOf(whole);
  packConstants();

  int inputIndex = task.indexOf(Role::Input);
  inputArgument = argumentName(inputIndex);
  inputFloats = task.operands[size_t(inputIndex)].type.elementCount();
  inputBase = cat(shape.inputOrigin);
  weightArgument = argumentName(shape.weight);
  weightFloats = floatsOf(size_t(shape.weight));
  if (ragged.count)
    payload.workerFloats =
        chunkRows * (byHeight() ? shape.width : 1) * panelLanes();
  if (scaled) {
    payload.scratchFloats = prologue == Prologue::ScaleWeights
                                ? weightFloats
                                : shape.pixels() * shape.reductions[0].extent;
    scaleStage(prologue);
  }
  if (!shape.weightStrides.empty()) {
    inPlace = prologue != Prologue::PackWeights;
    if (inPlace && shape.weightStrides[2] != 1)
      return makeError("a transposed right operand has to be packed");
    int64_t images = shape.weightPerImage ? shape.images : 1;
    payload.scratchFloats = images * (inPlace ? ragged.count : groupPanels) *
                            shape.depth() * panelLanes();
    if (!inPlace)
      packRightOperand(/*whole=*/true);
    packRightOperand(/*whole=*/false);
  }
  if (pairVectors)
    pairedStage(whole);
  else if (whole.count)
    contractionStage(whole);
  if (ragged.count)
    contractionStage(ragged);
  return std::move(payload);
}

Result<Payload> tlm::convTemplate(const TemplateInput &input) {
  auto shape = ContractionShape::of(
      input.task, input.schedule.get(Decision::JoinedGroups, "", 1));
  if (!shape)
    return shape.error();
  return ContractionBuilder(input, std::move(*shape)).build();
}
