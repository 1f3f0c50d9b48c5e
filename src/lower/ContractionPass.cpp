#include "lower/ContractionBuilder.h"
#include "lower/Text.h"

using namespace tlm;

static std::string dimNames(const char *stem, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(cat(stem, i));
  return join(names, ", ");
}

std::string ContractionBuilder::identityMap() {
  return cat("affine_map<(", kParallel, ") -> (", kParallel, ")>");
}

std::string ContractionBuilder::iteratorTypes(size_t reductions) {
  std::vector<std::string> names(5, "\"parallel\"");
  names.insert(names.end(), reductions, "\"reduction\"");
  return cat("[", join(names, ", "), "]");
}

// [f1][reductions][f2][f0] of a chunk.
ViewText
ContractionBuilder::weightView(const Panels &run, const Pass &pass,
                               const std::vector<int64_t> &depthSizes) const {
  std::string name = cat("w", pass.name);
  std::vector<int64_t> sizes = {run.tile};
  sizes.insert(sizes.end(), depthSizes.begin(), depthSizes.end());
  sizes.insert(sizes.end(), {row, lanes});
  if (inPlace && !run.ragged) {
    std::string offset =
        cat(run.first * panelLanes(), " + ",
            chunkOffset(run, shape.weightStrides[0], 0, 0, panelLanes()),
            " + (", pass.begin, ") * ", shape.weightStrides[1]);
    return view(name, weightArgument, weightFloats, offset, sizes,
                {panelLanes(), shape.weightStrides[1], lanes, 1}, false,
                pass.step);
  }
  int64_t panelFloats = shape.depth() * panelLanes();
  int64_t step = panelFloats / shape.reductions[0].extent;
  std::vector<int64_t> strides = {panelFloats, step};
  for (size_t r = 1; r < depthSizes.size(); ++r)
    strides.push_back(step /= depthSizes[r]);
  strides.insert(strides.end(), {lanes, 1});
  // Where only ragged panels were packed, they are all that scratch holds.
  std::string offset =
      cat(inPlace ? chunkOffset(run, shape.weightPerImage ? panelFloats : 0, 0,
                                0, 0)
                  : panelOffset(run, panelFloats, shape.weightPerImage),
          " + (", pass.begin, ") * ", strides[1]);
  bool isPacked = !shape.weightStrides.empty();
  return view(name, isPacked ? "%scratch" : weightArgument,
              isPacked ? payload.scratchFloats : weightFloats, offset, sizes,
              strides, false, pass.step);
}

// The input is [h, all reductions but the last, w, the last].
ContractionBuilder::PassViews
ContractionBuilder::passViews(const Panels &run, const Pass &pass) const {
  PassViews views;
  std::vector<int64_t> sizes = {byHeight() ? chunkRows : 1};
  std::vector<int64_t> strides = {shape.inputStrides[1]};
  for (size_t r = 0; r < shape.reductions.size(); ++r) {
    int64_t extent = r ? shape.reductions[r].extent : depthTile;
    views.depthSizes.push_back(extent);
    if (r + 1 == shape.reductions.size()) {
      sizes.push_back(lineWidth());
      strides.push_back(shape.inputStrides[2]);
    }
    sizes.push_back(extent);
    strides.push_back(shape.reductions[r].inputStride);
  }
  std::string offset =
      cat(inputBase, " + ",
          chunkOffset(run, shape.inputStrides[0],
                      shape.inputStrides[byHeight() ? 1 : 2],
                      shape.groupInputStride, 0),
          " + (", pass.begin, ") * ", shape.reductions[0].inputStride);
  views.in = view(cat("in", pass.name), inputArgument, inputFloats, offset,
                  sizes, strides, false, pass.step);
  views.weight = weightView(run, pass, views.depthSizes);
  return views;
}

ViewText ContractionBuilder::outView(const Panels &run,
                                     const std::string &name) const {
  int64_t w = lineWidth();
  std::vector<int64_t> sizes = {byHeight() ? chunkRows : 1, w, run.tile, row,
                                lanes};
  if (run.ragged)
    return view(name, "%worker", payload.workerFloats, "0", sizes,
                {w * panelLanes(), panelLanes(), panelLanes(), lanes, 1}, true);
  return view(
      name, argumentName(int(task.operands.size()) - 1),
      task.output().type.elementCount(),
      cat(shape.outputOrigin + run.first * panelLanes(), " + ",
          chunkOffset(run, shape.outputStrides[0],
                      shape.outputStrides[byHeight() ? 1 : 2],
                      shape.groupFilters, panelLanes())),
      sizes,
      {shape.outputStrides[1], shape.outputStrides[2], panelLanes(), lanes, 1},
      true);
}

std::string ContractionBuilder::zeros(const std::string &result,
                                      const std::string &target,
                                      const std::string &type,
                                      const std::string &attributes) {
  std::string zero = cat(result, "_0");
  return cat("  ", zero, " = arith.constant 0.0 : f32\n  ", result,
             " = linalg.generic {indexing_maps = [", identityMap(),
             "], iterator_types = ", iteratorTypes(0), "} outs(", target, " : ",
             type, ")", attributes, " {\n  ^bb0(%o: f32):\n    linalg.yield ",
             zero, " : f32\n  } -> ", type, "\n");
}

std::string ContractionBuilder::products(const std::string &result,
                                         const PassViews &views,
                                         const std::string &start,
                                         const std::string &type,
                                         const std::string &attributes) {
  size_t depths = views.depthSizes.size();
  std::string names = dimNames("r", depths), outer = dimNames("r", depths - 1);
  std::string map = cat("affine_map<(", kParallel, ", ", names, ") -> (");
  return cat("  ", result, " = linalg.generic {indexing_maps = [", map, "h, ",
             outer, outer.empty() ? "" : ", ", "w, r", depths - 1, ")>, ", map,
             "f1, ", names, ", f2, f0)>, ", map, kParallel,
             ")>], iterator_types = ", iteratorTypes(depths), "} ins(%",
             views.in.name, "_t, %", views.weight.name,
             "_t : ", views.in.tensorType, ", ", views.weight.tensorType,
             ") outs(", start, " : ", type, ")", attributes,
             " {\n  ^bb0(%x: f32, %y: f32, %o: f32):\n"
             "    %p = arith.mulf %x, %y fastmath<contract> : f32\n"
             "    %q = arith.addf %o, %p fastmath<contract> : f32\n"
             "    linalg.yield %q : f32\n  } -> ",
             type, "\n");
}

std::string ContractionBuilder::store(const std::string &value,
                                      const ViewText &out) {
  return cat("  bufferization.materialize_in_destination ", value,
             " in restrict writable %", out.name, " : (", out.tensorType, ", ",
             out.memrefType, ") -> ()\n");
}

std::string ContractionBuilder::earlierPasses(const Panels &run,
                                              const std::string &stage) const {
  ViewText start = outView(run, "start"), sum = outView(run, "sum");
  PassViews views = passViews(run, {"p", cat("d1 * ", depthTile), "%pass"});
  return cat(start.ops,
             zeros("%none", "%start_t", start.tensorType,
                   cat(" attrs = {zeros_", stage, "}")),
             store("%none", start),
             "  %first = arith.constant 0 : index\n"
             "  %one = arith.constant 1 : index\n"
             "  %last = arith.constant ",
             passes - 1,
             " : index\n  scf.for %pass = %first to %last step %one {\n",
             views.in.ops, views.weight.ops, sum.ops,
             products("%more", views, "%sum_t", sum.tensorType,
                      cat(" attrs = {pass_", stage, "}")),
             store("%more", sum), "  }\n");
}
