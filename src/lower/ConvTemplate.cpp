//===- ConvTemplate.cpp - convolution and matmul as a contraction ---------===//
//
// The input is read through an overlapping strided view, so every convolution
// (any stride, NHWC or the NCHW of a network's input, 1x1 and 3-channel stems
// included) and every matmul with constant weights is one contraction
//
//   O[h, w, f1, f2, f0] += A[h, w, r...] * W[f1, r..., f2, f0]
//
// with f0 = one vector, f2 = register_row vectors, weights packed to panels
// [f1][r...][f2][f0] with zeros behind F. The accumulator starts as the bias;
// the epilogue is one generic fused into the register tile.
//
//===----------------------------------------------------------------------===//

#include "lower/Payload.h"
#include "lower/Script.h"
#include "lower/Text.h"
#include "space/ContractionShape.h"

using namespace tlm;

namespace {

std::string dimNames(const char *stem, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(cat(stem, i));
  return join(names, ", ");
}

class ConvBuilder {
public:
  ConvBuilder(const TemplateInput &input, ContractionShape shape)
      : task(input.task), schedule(input.schedule), target(input.target),
        shape(std::move(shape)), lanes(target.vectorFloats()) {}

  Result<Payload> build();

private:
  void packConstants();
  void scaleStage(Prologue prologue);
  void contractionStage(int64_t firstPanel, int64_t panelCount);
  void cropStage(int64_t firstColumn);
  std::string chunkOffset(int64_t image, int64_t row, int64_t panel) const;

  const Task &task;
  const Schedule &schedule;
  const Target &target;
  ContractionShape shape;
  int64_t lanes;
  Payload payload;

  int64_t row = 2;    // f2: vectors of a panel
  int64_t panels = 1; // f1
  int64_t tileW = 7, tileF = 1;
  int64_t chunkRows = 1; // of h, or of w when there is one row
  int64_t rowChunks = 1, panelChunks = 1;
  std::string stageName;
  // Where the contraction reads and writes.
  std::string inputArgument, weightArgument, outputArgument;
  int64_t inputFloats = 0, weightFloats = 0, outputFloats = 0;
  std::string inputBase, outputBase;
};

} // namespace

void ConvBuilder::packConstants() {
  payload.packings.resize(task.operands.size());
  const Operand &weight = *task.find(Role::Weight);
  Packing packing;
  packing.sourceDims = weight.type.dims;
  packing.dims.push_back({shape.weightFilterAxis, panels, row * lanes});
  for (const ReductionDim &dim : shape.reductions)
    for (const PackDim &part : dim.weightParts)
      packing.dims.push_back(part);
  packing.dims.push_back({shape.weightFilterAxis, row, lanes});
  packing.dims.push_back({shape.weightFilterAxis, lanes, 1});
  payload.packings[size_t(task.indexOf(Role::Weight))] = packing;

  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    if (!operand.isConstant || operand.role == Role::Weight)
      continue;
    // Bias and per-channel constants are padded to whole panels.
    if (int axis = shape.channelAxis(operand); axis >= 0) {
      Packing vector;
      vector.sourceDims = operand.type.dims;
      for (int32_t d = 0; d < int32_t(operand.type.dims.size()); ++d)
        vector.dims.push_back(
            {d, d == axis ? panels * row * lanes : operand.type.dims[size_t(d)],
             1});
      payload.packings[i] = vector;
    }
  }
}

std::string ConvBuilder::chunkOffset(int64_t image, int64_t rowStep,
                                     int64_t panel) const {
  std::string text = "0";
  int64_t perImage = rowChunks * panelChunks;
  if (image && shape.images > 1)
    text += cat(" + (d0 floordiv ", perImage, ") * ", image);
  if (rowStep && rowChunks > 1)
    text += cat(" + ((d0 floordiv ", panelChunks, ") mod ", rowChunks, ") * ",
                chunkRows * rowStep);
  if (panel && panelChunks > 1)
    text += cat(" + (d0 mod ", panelChunks, ") * ", tileF * panel);
  return text;
}

Result<Payload> ConvBuilder::build() {
  int64_t vectors = (shape.filters + lanes - 1) / lanes;
  row = schedule.get(Decision::RegisterRow, "f", 2);
  panels = vectors / row;
  if (vectors % row)
    return makeError("register_row does not divide the filter vectors");
  tileW = schedule.get(Decision::RegisterTile, "w", 7);
  int64_t rows = shape.height > 1 ? shape.height : shape.width;
  chunkRows = schedule.get(Decision::ParallelTile, "rows", rows);
  // A plain [M, N] output with a ragged N cannot take the whole last panel.
  int64_t wholePanels = shape.outputFilters / (row * lanes);
  int64_t mainPanels = wholePanels ? wholePanels : panels;
  tileF = schedule.get(Decision::ParallelTile, "f", mainPanels);
  if (rows % chunkRows || mainPanels % tileF)
    return makeError("parallel_tile does not divide its loop");
  rowChunks = rows / chunkRows;
  payload.maxParallelism = schedule.get(Decision::MaxParallelism, "", 1);
  packConstants();

  int inputIndex = task.indexOf(Role::Input);
  int weightIndex = task.indexOf(Role::Weight);
  int outputIndex = int(task.operands.size()) - 1;
  inputArgument = argumentName(inputIndex);
  inputFloats = task.operands[size_t(inputIndex)].type.elementCount();
  inputBase = cat(shape.inputOrigin);
  weightArgument = argumentName(weightIndex);
  weightFloats = payload.packings[size_t(weightIndex)]->elementCount();
  outputArgument = argumentName(outputIndex);
  outputFloats = task.output().type.elementCount();
  outputBase = cat(shape.outputOrigin);

  // Scratch holds what a scale stage yields, then the ragged last panel, whose
  // columns a last stage copies.
  int64_t pixels = shape.images * shape.height * shape.width;
  bool scaled = task.find(Role::InputScale) != nullptr;
  auto prologue = static_cast<Prologue>(
      schedule.get(Decision::Prologue, "", int64_t(Prologue::ScaleWeights)));
  int64_t tailOffset = !scaled ? 0
                       : prologue == Prologue::ScaleWeights
                           ? weightFloats
                           : pixels * shape.reductions[0].extent;
  payload.scratchFloats =
      tailOffset + (wholePanels < panels ? pixels * row * lanes : 0);
  if (scaled)
    scaleStage(prologue);
  if (wholePanels)
    contractionStage(0, wholePanels);
  if (wholePanels < panels) {
    outputArgument = "%scratch";
    outputFloats = payload.scratchFloats;
    outputBase = cat(tailOffset);
    shape.outputStrides = {shape.height * shape.width * row * lanes,
                           shape.width * row * lanes, row * lanes};
    contractionStage(wholePanels, panels - wholePanels);
    cropStage(wholePanels * row * lanes);
  }
  return payload;
}

Result<Payload> tlm::convTemplate(const TemplateInput &input) {
  auto shape = ContractionShape::of(input.task);
  if (!shape)
    return shape.error();
  return ConvBuilder(input, std::move(*shape)).build();
}

// Stage "s0" of a squeeze-excite convolution: W'[f1][c][f2][f0] = W * s[c], or
// A'[pixel][c] = A * s[c], whichever the schedule found smaller.
void ConvBuilder::scaleStage(Prologue prologue) {
  int scaleIndex = task.indexOf(Role::InputScale);
  int64_t scaleFloats = task.operands[size_t(scaleIndex)].type.elementCount();
  std::string scale = argumentName(scaleIndex);
  Stage stage;
  stage.name = "s0";
  std::string vector = cat("vector<", lanes, "xf32>");
  if (prologue == Prologue::ScaleWeights) {
    // One chunk a panel.
    int64_t depth = shape.reductions[0].extent;
    stage.chunks = panels;
    stage.body = cat(
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
        "  %depth = arith.constant ",
        depth,
        " : index\n"
        "  scf.for %k = %c0 to %depth step %c1 {\n"
        "    %s = memref.load ",
        scale, "[%k] : memref<", scaleFloats,
        "xf32>\n"
        "    %v = vector.broadcast %s : f32 to ",
        vector, "\n");
    for (int64_t j = 0; j < row; ++j)
      stage.body +=
          cat("    %i", j, " = affine.apply affine_map<(d0, d1) -> (d0 * ",
              depth * row * lanes, " + d1 * ", row * lanes, " + ", j * lanes,
              ")>(%chunk, %k)\n    %w", j, " = vector.load ", weightArgument,
              "[%i", j, "] : memref<", weightFloats, "xf32>, ", vector,
              "\n    %p", j, " = arith.mulf %w", j, ", %v : ", vector,
              "\n    vector.store %p", j, ", %scratch[%i", j, "] : memref<",
              payload.scratchFloats, "xf32>, ", vector, "\n");
    stage.body += "  }\n";
    weightArgument = "%scratch";
    weightFloats = payload.scratchFloats;
  } else {
    // Rows of pixels; channels are whole vectors (checked by the space).
    int64_t pixels = shape.height * shape.width * shape.images;
    int64_t channels = shape.reductions[0].extent;
    // Images may be merged into one pixel loop; the scale is an image's.
    const std::vector<int64_t> &dims = task.find(Role::Input)->type.dims;
    int64_t imagePixels = dims[2] * dims[3];
    int64_t perChunk = pixels;
    for (int64_t candidate = 1; candidate <= pixels; ++candidate)
      if (pixels % candidate == 0 && candidate * channels >= 8192) {
        perChunk = candidate;
        break;
      }
    stage.chunks = pixels / perChunk;
    const auto &in = shape.inputStrides;
    stage.body = cat(
        "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
        "  %cl = arith.constant ",
        lanes,
        " : index\n"
        "  %pixels = arith.constant ",
        perChunk,
        " : index\n"
        "  %channels = arith.constant ",
        channels,
        " : index\n"
        "  scf.for %q = %c0 to %pixels step %c1 {\n"
        "    %p = affine.apply affine_map<(d0, d1) -> (d0 * ",
        perChunk,
        " + d1)>(%chunk, %q)\n"
        "    scf.for %c = %c0 to %channels step %cl {\n"
        "      %i = affine.apply affine_map<(d0, d1) -> (",
        shape.inputOrigin, " + (d0 floordiv ", shape.height * shape.width,
        ") * ", in[0], " + ((d0 floordiv ", shape.width, ") mod ", shape.height,
        ") * ", in[1], " + (d0 mod ", shape.width, ") * ", in[2],
        " + d1)>(%p, %c)\n"
        "      %x = vector.load ",
        inputArgument, "[%i] : memref<", inputFloats, "xf32>, ", vector,
        "\n"
        "      %j = affine.apply affine_map<(d0, d1) -> ((d0 floordiv ",
        imagePixels, ") * ", channels,
        " + d1)>(%p, %c)\n"
        "      %s = vector.load ",
        scale, "[%j] : memref<", scaleFloats, "xf32>, ", vector,
        "\n"
        "      %y = arith.mulf %x, %s : ",
        vector,
        "\n"
        "      %o = affine.apply affine_map<(d0, d1) -> (d0 * ",
        channels,
        " + d1)>(%p, %c)\n"
        "      vector.store %y, %scratch[%o] : memref<",
        payload.scratchFloats, "xf32>, ", vector, "\n    }\n  }\n");
    inputArgument = "%scratch";
    inputFloats = payload.scratchFloats;
    inputBase = "0";
    shape.inputStrides = {shape.height * shape.width * channels,
                          shape.width * channels, channels};
  }
  payload.stages.push_back(std::move(stage));
}

// Panels [firstPanel, firstPanel + panelCount) of weights, bias and per-channel
// operands; the output starts at outputBase.
void ConvBuilder::contractionStage(int64_t firstPanel, int64_t panelCount) {
  Stage stage;
  stageName = cat("s", payload.stages.size());
  if (panelCount % tileF)
    tileF = panelCount;
  panelChunks = panelCount / tileF;
  int64_t firstLane = firstPanel * row * lanes;
  stage.name = stageName;
  stage.chunks = shape.images * rowChunks * panelChunks;
  if (weightArgument != "%scratch" &&
      schedule.get(Decision::Prefetch, "", int64_t(Prefetch::None)) ==
          int64_t(Prefetch::NextPanel))
    stage.streamed = task.indexOf(Role::Weight);

  bool byHeight = shape.height > 1;
  int64_t h = byHeight ? chunkRows : 1;
  int64_t w = byHeight ? shape.width : chunkRows;
  int64_t inputRow = byHeight ? shape.inputStrides[1] : shape.inputStrides[2];
  int64_t outputRow =
      byHeight ? shape.outputStrides[1] : shape.outputStrides[2];

  // Input view: [h, all reductions but the last, w, the last].
  std::vector<int64_t> sizes = {h}, strides = {shape.inputStrides[1]};
  std::vector<std::string> inputDims = {"h"};
  size_t last = shape.reductions.size() - 1;
  std::vector<int64_t> depthSizes;
  for (size_t r = 0; r <= last; ++r) {
    depthSizes.push_back(shape.reductions[r].extent);
    if (r == last) {
      sizes.push_back(w);
      strides.push_back(shape.inputStrides[2]);
      inputDims.push_back("w");
    }
    sizes.push_back(shape.reductions[r].extent);
    strides.push_back(shape.reductions[r].inputStride);
    inputDims.push_back(cat("r", r));
  }
  ViewText in = view(
      "in", inputArgument, inputFloats,
      cat(inputBase, " + ", chunkOffset(shape.inputStrides[0], inputRow, 0)),
      sizes, strides, false);

  int64_t depth = 1;
  for (int64_t size : depthSizes)
    depth *= size;
  int64_t panelFloats = depth * row * lanes;
  std::vector<int64_t> weightSizes = {tileF}, weightStrides = {panelFloats};
  int64_t step = panelFloats;
  for (int64_t size : depthSizes) {
    step /= size;
    weightSizes.push_back(size);
    weightStrides.push_back(step);
  }
  weightSizes.insert(weightSizes.end(), {row, lanes});
  weightStrides.insert(weightStrides.end(), {lanes, 1});
  ViewText weight =
      view("w", weightArgument, weightFloats,
           cat(firstPanel * panelFloats, " + ", chunkOffset(0, 0, panelFloats)),
           weightSizes, weightStrides, false);

  std::vector<int64_t> outSizes = {h, w, tileF, row, lanes};
  ViewText out = view(
      "out", outputArgument, outputFloats,
      cat(outputBase, " + ",
          chunkOffset(shape.outputStrides[0], outputRow, row * lanes)),
      outSizes,
      {shape.outputStrides[1], shape.outputStrides[2], row * lanes, lanes, 1},
      true);

  std::string reductionNames = dimNames("r", depthSizes.size());
  std::string parallel = "h, w, f1, f2, f0";
  std::string identity =
      cat("affine_map<(", parallel, ") -> (", parallel, ")>");
  auto iterators = [](size_t parallelCount, size_t reductionCount) {
    std::vector<std::string> names(parallelCount, "\"parallel\"");
    names.insert(names.end(), reductionCount, "\"reduction\"");
    return cat("[", join(names, ", "), "]");
  };

  // Bias, or zeros, as the accumulator's start. Where a tile is one pixel wide
  // the broadcast of the bias would be an identity copy, and so would an empty
  // epilogue anywhere: canonicalisation drops both, and the script would miss
  // its operations. Then the bias is added in the epilogue.
  std::string &body = stage.body;
  PointEmitter emitter(0, "e");
  BalancedTiles tiles = balancedTiles(w, tileW);
  int bias = task.indexOf(Role::Bias);
  bool lateBias = bias >= 0 &&
                  (task.points.empty() || tiles.size1 == 1 || tiles.size2 == 1);
  body += in.ops + weight.ops + out.ops;
  body += cat("  %empty = tensor.empty() : ", out.tensorType, "\n");
  ViewText biasView;
  if (bias >= 0) {
    biasView = view("bias", argumentName(bias),
                    payload.packings[size_t(bias)]->elementCount(),
                    cat(firstLane, " + ", chunkOffset(0, 0, row * lanes)),
                    {tileF, row, lanes}, {row * lanes, lanes, 1}, false);
    body += biasView.ops;
  }
  if (bias >= 0 && !lateBias) {
    body += cat("  %init = linalg.generic {indexing_maps = [affine_map<(",
                parallel, ") -> (f1, f2, f0)>, ", identity,
                "], iterator_types = ", iterators(5, 0),
                "} ins(%bias_t : ", biasView.tensorType,
                ") outs(%empty : ", out.tensorType,
                ") {\n  ^bb0(%x: f32, %o: f32):\n    linalg.yield %x : f32\n"
                "  } -> ",
                out.tensorType, "\n");
  } else {
    body += cat("  %zero = arith.constant 0.0 : f32\n"
                "  %init = linalg.generic {indexing_maps = [",
                identity, "], iterator_types = ", iterators(5, 0),
                "} outs(%empty : ", out.tensorType,
                ") {\n  ^bb0(%o: f32):\n    linalg.yield %zero : f32\n  } -> ",
                out.tensorType, "\n");
  }
  body += cat("  %acc = linalg.generic {indexing_maps = [affine_map<(",
              parallel, ", ", reductionNames, ") -> (", join(inputDims, ", "),
              ")>, affine_map<(", parallel, ", ", reductionNames, ") -> (f1, ",
              reductionNames, ", f2, f0)>, affine_map<(", parallel, ", ",
              reductionNames, ") -> (", parallel,
              ")>], iterator_types = ", iterators(5, depthSizes.size()),
              "} ins(%in_t, %w_t : ", in.tensorType, ", ", weight.tensorType,
              ") outs(%init : ", out.tensorType,
              ") {\n  ^bb0(%x: f32, %y: f32, %o: f32):\n"
              "    %p = arith.mulf %x, %y fastmath<contract> : f32\n"
              "    %q = arith.addf %o, %p fastmath<contract> : f32\n"
              "    linalg.yield %q : f32\n  } -> ",
              out.tensorType, "\n");

  // Epilogue.
  std::vector<std::string> ins = {"%acc"}, inTypes = {out.tensorType},
                           maps = {identity}, blockArgs = {"%acc_: f32"},
                           extras(task.operands.size());
  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    if (operand.role != Role::Extra)
      continue;
    std::string name = cat("x", i);
    int64_t floats = payload.packings[i] ? payload.packings[i]->elementCount()
                                         : operand.type.elementCount();
    ViewText v;
    if (shape.isScalar(operand)) {
      v = view(name, argumentName(int(i)), floats, "0", {1}, {1}, false);
      maps.push_back(cat("affine_map<(", parallel, ") -> (0)>"));
    } else if (shape.channelAxis(operand) >= 0) {
      v = view(name, argumentName(int(i)), floats,
               cat(firstLane, " + ", chunkOffset(0, 0, row * lanes)),
               {tileF, row, lanes}, {row * lanes, lanes, 1}, false);
      maps.push_back(cat("affine_map<(", parallel, ") -> (f1, f2, f0)>"));
    } else {
      std::vector<int64_t> s = shape.activationStrides(operand.type);
      v = view(name, argumentName(int(i)), floats,
               cat(operand.type.origin(), " + ",
                   chunkOffset(s[0], byHeight ? s[1] : s[2], row * lanes)),
               outSizes, {s[1], s[2], row * lanes, lanes, 1}, false);
      maps.push_back(identity);
    }
    body += v.ops;
    ins.push_back(cat("%", name, "_t"));
    inTypes.push_back(v.tensorType);
    blockArgs.push_back(cat("%", name, "_: f32"));
    extras[i] = cat("%", name, "_");
  }
  std::string start = "%acc_";
  if (lateBias) {
    ins.push_back("%bias_t");
    inTypes.push_back(biasView.tensorType);
    maps.push_back(cat("affine_map<(", parallel, ") -> (f1, f2, f0)>"));
    blockArgs.push_back("%bias_: f32");
    start = emitter.add(start, "%bias_");
  } else if (task.points.empty()) {
    start = emitter.fma(start, emitter.constant(1.0f), emitter.constant(-0.0f));
  }
  maps.push_back(identity);
  blockArgs.push_back("%o: f32");
  std::string result = emitter.emitEpilogue(task, start, extras);
  body += emitter.constants();
  body +=
      cat("  %y = linalg.generic {indexing_maps = [", join(maps, ", "),
          "], iterator_types = ", iterators(5, 0), "} ins(", join(ins, ", "),
          " : ", join(inTypes, ", "), ") outs(%out_t : ", out.tensorType,
          ") attrs = {epilogue_", stageName, "} {\n  ^bb0(",
          join(blockArgs, ", "), "):\n", emitter.body(), "      linalg.yield ",
          result, " : f32\n  } -> ", out.tensorType,
          "\n  bufferization.materialize_in_destination %y in restrict "
          "writable %out : (",
          out.tensorType, ", ", out.memrefType, ") -> ()\n");

  // Schedule.
  Script script(stageName);
  auto loopOrder = static_cast<LoopOrder>(
      schedule.get(Decision::LoopOrder, "", int64_t(LoopOrder::PanelsOuter)));
  std::vector<int64_t> order = loopOrder == LoopOrder::PanelsOuter
                                   ? std::vector<int64_t>{2, 0, 1, 3, 4}
                                   : std::vector<int64_t>{0, 2, 1, 3, 4};
  bool rowLoop = schedule.get(Decision::EpiloguePlace, "",
                              int64_t(EpiloguePlace::RegisterTile)) ==
                 int64_t(EpiloguePlace::RowLoop);
  std::vector<std::string> roots = {script.matchTag("epilogue_" + stageName)};
  std::vector<int64_t> widths = {tiles.size1};
  if (tiles.size2) {
    auto [left, right] =
        script.splitLoop(roots[0], 1, tiles.size1 * tiles.count1);
    roots = {left, right};
    widths.push_back(tiles.size2);
  }
  for (size_t i = 0; i < roots.size(); ++i)
    script.fuse(roots[i], {1, widths[i], 1, 0, 0}, order);
  script.clean();
  std::vector<std::string> generics =
      script.split(script.match("linalg.generic"), int(3 * roots.size()));
  for (size_t i = 0; i < roots.size(); ++i) {
    // Unit dims are gone: what is left is w, f2 (when > 1), f0, reductions.
    size_t kept = 1 + (row > 1) + (widths[i] > 1);
    std::vector<int64_t> sizes(kept, 0);
    sizes.insert(sizes.end(), depthSizes.size(), 1);
    script.tile(generics[3 * i + 1], sizes);
    if (rowLoop && widths[i] > 1)
      script.tile(generics[3 * i + 2], {1});
  }
  script.clean();
  script.vectorizeAndHoist();
  stage.script = script.text();
  payload.stages.push_back(std::move(stage));
}

// Columns of the last panel, from scratch to the output.
void ConvBuilder::cropStage(int64_t firstColumn) {
  int64_t padded = row * lanes;
  int64_t columns = shape.outputFilters - firstColumn;
  int64_t rows = shape.images * shape.height * shape.width;
  const std::vector<int64_t> strides =
      shape.activationStrides(task.output().type);
  Stage stage;
  stage.name = cat("s", payload.stages.size());
  int64_t whole = columns / lanes * lanes;
  std::string vector = cat("vector<", lanes, "xf32>");
  std::string out = argumentName(int(task.operands.size()) - 1);
  int64_t outFloats = task.output().type.elementCount();
  int64_t scratchOffset = payload.scratchFloats - rows * padded;
  stage.body =
      cat("  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
          "  %cl = arith.constant ",
          lanes,
          " : index\n"
          "  %rows = arith.constant ",
          rows,
          " : index\n"
          "  %whole = arith.constant ",
          whole,
          " : index\n"
          "  %columns = arith.constant ",
          columns,
          " : index\n"
          "  scf.for %r = %c0 to %rows step %c1 {\n");
  auto copy = [&](const char *from, const char *to, const char *by,
                  const std::string &type, bool wide) {
    std::string load = wide ? "vector.load" : "memref.load";
    std::string store = wide ? "vector.store" : "memref.store";
    std::string suffix = wide ? cat(", ", type) : "";
    stage.body +=
        cat("    scf.for %c = ", from, " to ", to, " step ", by,
            " {\n"
            "      %i = affine.apply affine_map<(d0, d1) -> (",
            scratchOffset, " + d0 * ", padded,
            " + d1)>(%r, %c)\n"
            "      %o = affine.apply affine_map<(d0, d1) -> (",
            task.output().type.origin() + firstColumn, " + (d0 floordiv ",
            shape.height * shape.width, ") * ", strides[0], " + ((d0 floordiv ",
            shape.width, ") mod ", shape.height, ") * ", strides[1],
            " + (d0 mod ", shape.width, ") * ", strides[2],
            " + d1)>(%r, %c)\n"
            "      %v = ",
            load, " %scratch[%i] : memref<", payload.scratchFloats, "xf32>",
            suffix, "\n      ", store, " %v, ", out, "[%o] : memref<",
            outFloats, "xf32>", suffix, "\n    }\n");
  };
  copy("%c0", "%whole", "%cl", vector, true);
  copy("%whole", "%columns", "%c1", "f32", false);
  stage.body += "  }\n";
  payload.stages.push_back(std::move(stage));
}
