#include "lower/ContractionBuilder.h"
#include "lower/Text.h"

using namespace tlm;

// Where one panel holds all filters and they leave half of its last vector
// free, or where it is one vector. Two pixels are the least whose sums fill the
// pipeline.
int64_t ContractionBuilder::pairsOf(const Panels &whole) const {
  auto place = static_cast<EpiloguePlace>(schedule.get(
      Decision::EpiloguePlace, "", int64_t(EpiloguePlace::RegisterTile)));
  if (groupPanels != 1 || whole.count != 1 || passes != 1 ||
      place != EpiloguePlace::RegisterTile)
    return 0;
  int64_t vectors = shape.pairVectors(task, lanes);
  bool saves = vectors && (vectors < 2 * row || row == 1);
  return saves && tileW * row / vectors >= 2 ? vectors : 0;
}

// (x, y, x, y, ...) of the two floats at `at`.
std::string ContractionBuilder::broadcastPair(LoopNest &nest,
                                              const LoopNest::Array &array,
                                              const std::string &at) const {
  std::string pair = nest.load(array, at, 2), bits = nest.fresh("p"),
              one = nest.fresh("p"), all = nest.fresh("p"),
              wide = nest.fresh("x");
  nest.raw(cat("    ", bits, " = vector.bitcast ", pair,
               " : vector<2xf32> to vector<1xf64>\n    ", one,
               " = vector.extract ", bits, "[0] : f64 from vector<1xf64>\n    ",
               all, " = vector.broadcast ", one, " : f64 to vector<", lanes / 2,
               "xf64>\n    ", wide, " = vector.bitcast ", all, " : vector<",
               lanes / 2, "xf64> to vector<", lanes, "xf32>\n"));
  return wide;
}

// Sums of neighbouring lanes of two vectors, those of `x` first.
static std::string addPairs(LoopNest &nest, PointEmitter &emitter,
                            const std::string &x, const std::string &y,
                            int64_t lanes) {
  auto every = [&](int64_t first) {
    std::vector<int64_t> picks;
    for (int64_t i = 0; i < lanes; ++i)
      picks.push_back(2 * i + first);
    std::string name = nest.fresh("s");
    nest.raw(cat("    ", name, " = vector.shuffle ", x, ", ", y, " [",
                 join(picks, ", "), "] : vector<", lanes, "xf32>, vector<",
                 lanes, "xf32>\n"));
    return name;
  };
  std::string even = every(0), odd = every(1);
  return emitter.add(even, odd);
}

// A register tile of sums: `pairVectors` a pixel, carried through all loops of
// the reduction.
std::vector<std::string> ContractionBuilder::pairSums(LoopNest &nest,
                                                      PointEmitter &emitter,
                                                      const std::string &input,
                                                      int64_t pixels) const {
  LoopNest::Array source{inputArgument, inputFloats};
  LoopNest::Array weights{weightArgument, weightFloats};
  std::string type = cat("vector<", lanes, "xf32>");
  std::vector<std::string> sums(size_t(pixels * pairVectors),
                                emitter.constant(0));
  LoopNest::Index inputAt = {{input, 1}}, weightAt;
  int64_t step = shape.depth() / 2 * pairVectors * lanes;
  for (const ReductionDim &dim : shape.reductions) {
    bool inner = &dim == &shape.reductions.back();
    int64_t extent = inner ? dim.extent / 2 : dim.extent;
    step /= extent;
    std::string k = nest.openCarrying("k", extent, sums, type);
    inputAt.push_back({k, inner ? 2 : dim.inputStride});
    weightAt.push_back({k, step});
  }
  std::vector<std::string> w;
  for (int64_t j = 0; j < pairVectors; ++j)
    w.push_back(nest.load(weights, nest.index(j * lanes, weightAt), lanes));
  for (int64_t i = 0; i < pixels; ++i) {
    std::string x = broadcastPair(
        nest, source, nest.index(i * shape.inputStrides[2], inputAt));
    for (int64_t j = 0; j < pairVectors; ++j) {
      std::string &sum = sums[size_t(i * pairVectors + j)];
      sum = emitter.fma(x, w[size_t(j)], sum);
    }
    nest.raw(emitter.body());
    emitter.clearBody();
  }
  for (size_t r = 0; r < shape.reductions.size(); ++r)
    nest.closeCarrying(sums, type);
  return sums;
}

void ContractionBuilder::pairedStage(const Panels &run) {
  Stage stage;
  stage.name = cat("s", payload.stages.size());
  stage.chunks = shape.images * rowChunks;
  stage.rowBlocks = shape.images == 1 ? rowChunks : 1;
  int64_t chunkStep = byHeight() ? 1 : 2;
  LoopNest nest("n");
  PointEmitter emitter(lanes, "e");
  size_t output = task.operands.size() - 1;
  LoopNest::Array out{argumentName(int(output)), floatsOf(output)};
  auto start = [&](const std::string &base, const std::vector<int64_t> &s) {
    return nest.affine(
        cat(base, " + ", chunkOffset(run, s[0], s[size_t(chunkStep)], 0, 0)),
        {"%chunk"});
  };
  std::string inputStart = start(inputBase, shape.inputStrides);
  std::string outStart = start(cat(shape.outputOrigin), shape.outputStrides);
  std::vector<std::string> starts(output);
  for (size_t i = 0; i < output; ++i)
    if (task.operands[i].role == Role::Extra)
      starts[i] = nest.affine(extraOffset(run, i), {"%chunk"});
  std::string none = emitter.constant(0);
  int bias = task.indexOf(Role::Bias);

  BalancedTiles tiles = balancedTiles(lineWidth(), tileW * row / pairVectors);
  int64_t whole = tiles.count1 * tiles.size1;
  std::string y = nest.open("y", byHeight() ? chunkRows : 1);
  for (int64_t pixels : {tiles.size1, tiles.size2}) {
    if (!pixels)
      continue;
    bool first = pixels == tiles.size1;
    std::string x =
        nest.open("x", first ? 0 : whole, first ? whole : lineWidth(), pixels);
    std::vector<std::string> sums =
        pairSums(nest, emitter,
                 nest.index(0, {{inputStart, 1},
                                {y, shape.inputStrides[1]},
                                {x, shape.inputStrides[2]}}),
                 pixels);
    for (int64_t i = 0; i < pixels; ++i)
      for (int64_t j = 0; j < row; ++j) {
        auto half = [&](int64_t h) {
          return h < pairVectors ? sums[size_t(i * pairVectors + h)] : none;
        };
        std::string sum =
            addPairs(nest, emitter, half(2 * j), half(2 * j + 1), lanes);
        if (bias >= 0)
          sum = emitter.add(
              sum, nest.load({argumentName(bias), floatsOf(size_t(bias))},
                             nest.index(j * lanes, {}), lanes));
        std::vector<std::string> extras(task.operands.size());
        for (size_t e = 0; e < output; ++e)
          if (task.operands[e].role == Role::Extra)
            extras[e] =
                loadExtra(nest, e, {{starts[e], 1}}, y, x, i, j * lanes, lanes);
        std::string result = emitter.emitEpilogue(task, sum, extras);
        nest.raw(emitter.body());
        emitter.clearBody();
        nest.store(result, out,
                   nest.index(i * shape.outputStrides[2] + j * lanes,
                              {{outStart, 1},
                               {y, shape.outputStrides[1]},
                               {x, shape.outputStrides[2]}}),
                   lanes);
      }
    nest.close();
  }
  nest.close();
  stage.body = emitter.constants() + nest.text();
  payload.stages.push_back(std::move(stage));
}
