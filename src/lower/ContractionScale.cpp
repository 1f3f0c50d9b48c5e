#include "lower/ContractionBuilder.h"
#include "lower/Text.h"

using namespace tlm;

// Stage "s0" of a squeeze-excite convolution: W'[f1][c][f2][f0] = W * s[c], or
// A'[pixel][c] = A * s[c], whichever the schedule found smaller.
void ContractionBuilder::scaleStage(Prologue prologue) {
  int scaleIndex = task.indexOf(Role::InputScale);
  int64_t scaleFloats = task.operands[size_t(scaleIndex)].type.elementCount();
  std::string scale = argumentName(scaleIndex);
  Stage stage;
  stage.name = "s0";
  std::string vector = cat("vector<", lanes, "xf32>");
  if (prologue == Prologue::ScaleWeights) {
    // One chunk a panel.
    int64_t vectors = pairVectors ? pairVectors : row;
    int64_t steps = shape.reductions[0].extent / (pairVectors ? 2 : 1);
    stage.chunks = groupPanels;
    LoopNest nest;
    LoopNest::Array weights{weightArgument, weightFloats};
    LoopNest::Array scales{scale, scaleFloats};
    std::string k = nest.open("k", steps), wide;
    if (pairVectors) {
      wide = broadcastPair(nest, scales, nest.index(0, {{k, 2}}));
    } else {
      std::string one = nest.load(scales, k);
      wide = nest.fresh();
      nest.raw(cat("    ", wide, " = vector.broadcast ", one, " : f32 to ",
                   vector, "\n"));
    }
    for (int64_t j = 0; j < vectors; ++j) {
      std::string at =
          nest.index(j * lanes, {{"%chunk", steps * vectors * lanes},
                                 {k, vectors * lanes}});
      std::string weight = nest.load(weights, at, lanes), scaled = nest.fresh();
      nest.raw(cat("    ", scaled, " = arith.mulf ", weight, ", ", wide, " : ",
                   vector, "\n"));
      nest.store(scaled, {"%scratch", payload.scratchFloats}, at, lanes);
    }
    nest.close();
    stage.body = nest.text();
    weightArgument = "%scratch";
    weightFloats = payload.scratchFloats;
  } else {
    // Rows of pixels; channels are whole vectors (checked by the space).
    int64_t pixels = shape.height * shape.width * shape.images;
    int64_t channels = shape.reductions[0].extent;
    // Images may be merged into one pixel loop; the scale is an image's.
    const std::vector<int64_t> &dims = task.output().type.dims;
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
