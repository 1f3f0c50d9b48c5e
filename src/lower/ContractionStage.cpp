#include "lower/ContractionBuilder.h"
#include "lower/Text.h"

using namespace tlm;

void ContractionBuilder::contractionStage(const Panels &run) {
  Stage stage;
  stage.name = cat("s", payload.stages.size());
  stage.chunks = shape.images * rowChunks * shape.groups * run.chunks();
  stage.rowBlocks = shape.images == 1 ? rowChunks : 1;
  stage.channelBlocks = shape.groups == 1 ? run.chunks() : 1;
  if (schedule.get(Decision::Prefetch, "", int64_t(Prefetch::None)) ==
      int64_t(Prefetch::NextPanel)) {
    // Behind the operands stands %scratch, where run-time panels are packed.
    if (!shape.weightStrides.empty())
      stage.streamed = inPlace ? -1 : int(task.operands.size());
    else if (weightArgument != "%scratch")
      stage.streamed = shape.weight;
  }
  int64_t h = byHeight() ? chunkRows : 1, w = lineWidth();
  ViewText out = outView(run, "out");
  PassViews views = passViews(run, {"", cat((passes - 1) * depthTile), ""});
  std::string identity = identityMap();

  // Bias, or zeros, as the accumulator's start. Where a tile is one pixel wide
  // the broadcast of the bias would be an identity copy, and so would an empty
  // epilogue anywhere: canonicalisation drops both, and the script would miss
  // its operations. Then the bias is added in the epilogue, as are the sums of
  // earlier passes.
  std::string &body = stage.body;
  PointEmitter emitter(0, "e");
  BalancedTiles tiles = balancedTiles(w, tileW);
  int bias = task.indexOf(Role::Bias);
  bool hasPoints = !task.points.empty() && !run.ragged;
  bool lateBias =
      bias >= 0 && (!hasPoints || tiles.size1 == 1 || tiles.size2 == 1);
  std::string perFilter = cat("affine_map<(", kParallel, ") -> (f1, f2, f0)>");
  ViewText biasView;
  if (bias >= 0) {
    biasView = view("bias", argumentName(bias), floatsOf(size_t(bias)),
                    panelOffset(run, panelLanes(), false),
                    {run.tile, row, lanes}, {panelLanes(), lanes, 1}, false);
    body += biasView.ops;
  }
  if (passes > 1)
    body += earlierPasses(run, stage.name);
  body += views.in.ops + views.weight.ops + out.ops;
  body += cat("  %empty = tensor.empty() : ", out.tensorType, "\n");
  if (bias >= 0 && !lateBias)
    body += cat("  %init_t = linalg.generic {indexing_maps = [", perFilter,
                ", ", identity, "], iterator_types = ", iteratorTypes(0),
                "} ins(%bias_t : ", biasView.tensorType,
                ") outs(%empty : ", out.tensorType,
                ") {\n  ^bb0(%x: f32, %o: f32):\n    linalg.yield %x : f32\n"
                "  } -> ",
                out.tensorType, "\n");
  else
    body += zeros("%init_t", "%empty", out.tensorType, "");
  body += products("%acc", views, "%init_t", out.tensorType, "");

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
      maps.push_back(cat("affine_map<(", kParallel, ") -> (0)>"));
    } else if (access == Access::PerFilter) {
      v = view(name, argument, floats, offset, {run.tile, row, lanes},
               {panelLanes(), lanes, 1}, false);
      maps.push_back(perFilter);
    } else {
      std::vector<int64_t> s = shape.activationStrides(operand.type);
      bool spans = shape.spansFilters(operand.type);
      v = spans ? view(name, argument, floats, offset,
                       {h, w, run.tile, row, lanes},
                       {s[1], s[2], panelLanes(), lanes, 1}, false)
                : view(name, argument, floats, offset, {h, w}, {s[1], s[2]},
                       false);
      maps.push_back(spans ? identity
                           : cat("affine_map<(", kParallel, ") -> (h, w)>"));
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
    maps.push_back(perFilter);
    blockArgs.push_back("%bias_: f32");
    start = emitter.add(start, "%bias_");
  }
  if (passes > 1) {
    start = emitter.add(start, "%o");
  } else if (!lateBias && !hasPoints) {
    start = emitter.fma(start, emitter.constant(1.0f), emitter.constant(-0.0f));
  }
  maps.push_back(identity);
  blockArgs.push_back("%o: f32");
  std::string result =
      hasPoints ? emitter.emitEpilogue(task, start, extras) : start;
  body += emitter.constants();
  body +=
      cat("  %y = linalg.generic {indexing_maps = [", join(maps, ", "),
          "], iterator_types = ", iteratorTypes(0), "} ins(", join(ins, ", "),
          " : ", join(inTypes, ", "), ") outs(%out_t : ", out.tensorType,
          ") attrs = {epilogue_", stage.name, "} {\n  ^bb0(",
          join(blockArgs, ", "), "):\n", emitter.body(), "      linalg.yield ",
          result, " : f32\n  } -> ", out.tensorType, "\n", store("%y", out));
  stage.script = stageScript(stage.name, views.depthSizes.size());
  if (run.ragged)
    body += finishColumns(run);
  payload.stages.push_back(std::move(stage));
}

std::string ContractionBuilder::stageScript(const std::string &stage,
                                            size_t depths) const {
  Script script(stage);
  auto loopOrder = static_cast<LoopOrder>(
      schedule.get(Decision::LoopOrder, "", int64_t(LoopOrder::PanelsOuter)));
  bool rowLoop = schedule.get(Decision::EpiloguePlace, "",
                              int64_t(EpiloguePlace::RegisterTile)) ==
                 int64_t(EpiloguePlace::RowLoop);
  BalancedTiles tiles = balancedTiles(lineWidth(), tileW);
  std::vector<int64_t> widths = {tiles.size1};
  if (tiles.size2)
    widths.push_back(tiles.size2);
  if (passes > 1) {
    script.fuseTiles(script.matchTag(cat("zeros_", stage)), 1, {1}, loopOrder,
                     5);
    script.fuseTiles(script.matchTag(cat("pass_", stage)), 1, tiles, loopOrder,
                     5 + depths);
  }
  script.fuseTiles(script.matchTag(cat("epilogue_", stage)), 1, tiles,
                   loopOrder, 5);
  script.clean();

  // In program order: zeros and a product a width, where there are earlier
  // passes; then start, product and epilogue of each width.
  size_t earlier = passes > 1 ? 1 + widths.size() : 0;
  std::vector<std::string> generics = script.split(
      script.match("linalg.generic"), int(earlier + 3 * widths.size()));
  for (size_t i = 0; i < widths.size(); ++i) {
    // Unit dims are gone: what is left is w, f2 (when > 1), f0, reductions.
    std::vector<int64_t> sizes(size_t(1 + (row > 1) + (widths[i] > 1)), 0);
    sizes.insert(sizes.end(), depths, 1);
    if (passes > 1)
      script.tile(generics[1 + i], sizes);
    script.tile(generics[earlier + 3 * i + 1], sizes);
    if (rowLoop && widths[i] > 1)
      script.tile(generics[earlier + 3 * i + 2], {1});
  }
  script.clean();
  script.vectorizeAndHoist();
  return script.text();
}
