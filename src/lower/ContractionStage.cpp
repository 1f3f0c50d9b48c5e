#include "lower/ContractionBuilder.h"
#include "lower/Text.h"

using namespace tlm;

static std::string dimNames(const char *stem, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(cat(stem, i));
  return join(names, ", ");
}

// [f1][reductions][f2][f0] of a chunk.
ViewText
ContractionBuilder::weightView(const Panels &run,
                               const std::vector<int64_t> &depthSizes) const {
  std::vector<int64_t> sizes = {run.tile};
  sizes.insert(sizes.end(), depthSizes.begin(), depthSizes.end());
  sizes.insert(sizes.end(), {row, lanes});
  if (inPlace && !run.ragged) {
    std::string offset =
        cat(run.first * panelLanes(), " + ",
            chunkOffset(run, shape.weightStrides[0], 0, 0, panelLanes()));
    return view("w", weightArgument, weightFloats, offset, sizes,
                {panelLanes(), shape.weightStrides[1], lanes, 1}, false);
  }
  int64_t panelFloats = shape.depth() * panelLanes(), step = panelFloats;
  std::vector<int64_t> strides = {panelFloats};
  for (int64_t size : depthSizes)
    strides.push_back(step /= size);
  strides.insert(strides.end(), {lanes, 1});
  // Where only ragged panels were packed, they are all that scratch holds.
  std::string offset =
      inPlace
          ? chunkOffset(run, shape.weightPerImage ? panelFloats : 0, 0, 0, 0)
          : panelOffset(run, panelFloats, shape.weightPerImage);
  if (!shape.weightStrides.empty())
    return view("w", "%scratch", payload.scratchFloats, offset, sizes, strides,
                false);
  return view("w", weightArgument, weightFloats, offset, sizes, strides, false);
}

void ContractionBuilder::contractionStage(const Panels &run) {
  Stage stage;
  stage.name = cat("s", payload.stages.size());
  stage.chunks = shape.images * rowChunks * shape.groups * run.chunks();
  stage.rowBlocks = shape.images == 1 ? rowChunks : 1;
  if (schedule.get(Decision::Prefetch, "", int64_t(Prefetch::None)) ==
      int64_t(Prefetch::NextPanel)) {
    // Behind the operands stands %scratch, where run-time panels are packed.
    if (!shape.weightStrides.empty())
      stage.streamed = inPlace ? -1 : int(task.operands.size());
    else if (weightArgument != "%scratch")
      stage.streamed = shape.weight;
  }
  int64_t tileF = run.tile;
  int64_t h = byHeight() ? chunkRows : 1;
  int64_t w = byHeight() ? shape.width : chunkRows;
  size_t rowStep = byHeight() ? 1 : 2;

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
      cat(inputBase, " + ",
          chunkOffset(run, shape.inputStrides[0], shape.inputStrides[rowStep],
                      shape.groupInputStride, 0)),
      sizes, strides, false);

  ViewText weight = weightView(run, depthSizes);

  // The output, or its ragged columns in the worker's scratch.
  std::vector<int64_t> outSizes = {h, w, tileF, row, lanes};
  ViewText out;
  if (run.ragged)
    out = view("out", "%worker", payload.workerFloats, "0", outSizes,
               {w * panelLanes(), panelLanes(), panelLanes(), lanes, 1}, true);
  else
    out = view("out", argumentName(int(task.operands.size()) - 1),
               task.output().type.elementCount(),
               cat(shape.outputOrigin + run.first * panelLanes(), " + ",
                   chunkOffset(run, shape.outputStrides[0],
                               shape.outputStrides[rowStep], shape.groupFilters,
                               panelLanes())),
               outSizes,
               {shape.outputStrides[1], shape.outputStrides[2], panelLanes(),
                lanes, 1},
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
  bool hasPoints = !task.points.empty() && !run.ragged;
  bool lateBias =
      bias >= 0 && (!hasPoints || tiles.size1 == 1 || tiles.size2 == 1);
  body += in.ops + weight.ops + out.ops;
  body += cat("  %empty = tensor.empty() : ", out.tensorType, "\n");
  ViewText biasView;
  if (bias >= 0) {
    biasView = view("bias", argumentName(bias), floatsOf(size_t(bias)),
                    panelOffset(run, panelLanes(), false), {tileF, row, lanes},
                    {panelLanes(), lanes, 1}, false);
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
    if (operand.role != Role::Extra || !hasPoints)
      continue;
    std::string name = cat("x", i), argument = argumentName(int(i));
    std::string offset = extraOffset(run, i);
    int64_t floats = floatsOf(i);
    ViewText v;
    if (Access access = accessOf(operand); access == Access::Scalar) {
      v = view(name, argument, floats, offset, {1}, {1}, false);
      maps.push_back(cat("affine_map<(", parallel, ") -> (0)>"));
    } else if (access == Access::PerFilter) {
      v = view(name, argument, floats, offset, {tileF, row, lanes},
               {panelLanes(), lanes, 1}, false);
      maps.push_back(cat("affine_map<(", parallel, ") -> (f1, f2, f0)>"));
    } else {
      std::vector<int64_t> s = shape.activationStrides(operand.type);
      bool spans = shape.spansFilters(operand.type);
      v = spans ? view(name, argument, floats, offset, outSizes,
                       {s[1], s[2], panelLanes(), lanes, 1}, false)
                : view(name, argument, floats, offset, {h, w}, {s[1], s[2]},
                       false);
      maps.push_back(spans ? identity
                           : cat("affine_map<(", parallel, ") -> (h, w)>"));
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
  } else if (!hasPoints) {
    start = emitter.fma(start, emitter.constant(1.0f), emitter.constant(-0.0f));
  }
  maps.push_back(identity);
  blockArgs.push_back("%o: f32");
  std::string result =
      hasPoints ? emitter.emitEpilogue(task, start, extras) : start;
  body += emitter.constants();
  body +=
      cat("  %y = linalg.generic {indexing_maps = [", join(maps, ", "),
          "], iterator_types = ", iterators(5, 0), "} ins(", join(ins, ", "),
          " : ", join(inTypes, ", "), ") outs(%out_t : ", out.tensorType,
          ") attrs = {epilogue_", stage.name, "} {\n  ^bb0(",
          join(blockArgs, ", "), "):\n", emitter.body(), "      linalg.yield ",
          result, " : f32\n  } -> ", out.tensorType,
          "\n  bufferization.materialize_in_destination %y in restrict "
          "writable %out : (",
          out.tensorType, ", ", out.memrefType, ") -> ()\n");

  // Schedule.
  Script script(stage.name);
  auto loopOrder = static_cast<LoopOrder>(
      schedule.get(Decision::LoopOrder, "", int64_t(LoopOrder::PanelsOuter)));
  std::vector<int64_t> order = {2, 0, 1, 3, 4};
  if (loopOrder == LoopOrder::RowsOuter)
    order = {0, 2, 1, 3, 4};
  else if (loopOrder == LoopOrder::PixelsOuter)
    order = {0, 1, 2, 3, 4};
  bool rowLoop = schedule.get(Decision::EpiloguePlace, "",
                              int64_t(EpiloguePlace::RegisterTile)) ==
                 int64_t(EpiloguePlace::RowLoop);
  std::vector<std::string> roots = {
      script.matchTag(cat("epilogue_", stage.name))};
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
  if (run.ragged)
    body += finishColumns(run);
  stage.script = script.text();
  payload.stages.push_back(std::move(stage));
}
