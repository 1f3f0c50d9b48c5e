//===- LayoutTemplate.cpp - copies between NCHW and NHWC ------------------===//
//
// Blocks of `side` channels by `side` pixels are turned in registers. Channels
// are the outer loop: on the side of NCHW a block reads or writes `side`
// neighbouring streams in the order of memory, on the other side whole cache
// lines. The last block of pixels overlaps the one before; in the last block of
// channels those that are not there are zeros, or not stored.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Text.h"
#include "lower/Transpose.h"

#include <algorithm>
#include <bit>

using namespace tlm;

Result<Payload> tlm::layoutTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  bool toChannels = out.layout == Layout::Nhwc;
  int64_t height = in.dims[2], width = in.dims[3], channels = in.dims[1];
  int64_t rows = input.schedule.get(Decision::ParallelTile, "rows", height);
  if (height % rows)
    return makeError("parallel_tile does not divide its loop");
  Payload payload;
  payload.packings.resize(task.operands.size());
  payload.maxParallelism = input.schedule.get(Decision::MaxParallelism, "", 1);

  // Strides of image, channel, row and pixel; rows without anything between
  // them are one line.
  std::vector<int64_t> from = in.strides(), to = out.strides();
  bool merged = from[2] == width * from[3] && to[2] == width * to[3];
  int64_t lines = merged ? 1 : rows, pixels = merged ? rows * width : width;
  auto side = int64_t(
      std::bit_floor(uint64_t(std::min(input.target.vectorFloats(), pixels))));
  LoopNest::Array source{argumentName(0), in.elementCount()};
  LoopNest::Array target{argumentName(1), out.elementCount()};

  LoopNest nest;
  int64_t chunks = height / rows;
  std::string n = nest.affine(cat("d0 floordiv ", chunks), {"%chunk"});
  std::string h =
      nest.affine(cat("(d0 mod ", chunks, ") * ", rows), {"%chunk"});
  auto channelBlock = [&](const std::string &c, int64_t count) {
    std::string line = nest.open("line", lines);
    std::string block = nest.open("p", 0, pixels, side);
    std::string p = block;
    if (pixels % side) {
      p = nest.fresh("pixel");
      nest.raw(cat("    ", p, " = affine.min affine_map<(d0) -> (d0, ",
                   pixels - side, ")>(", block, ")\n"));
    }
    auto corner = [&](const BufferType &type, const std::vector<int64_t> &s) {
      return nest.index(
          type.origin(),
          {{n, s[0]}, {c, s[1]}, {h, s[2]}, {line, s[2]}, {p, s[3]}});
    };
    std::string read = corner(in, from), write = corner(out, to);
    int64_t readStep = toChannels ? from[1] : from[3];
    int64_t writeStep = toChannels ? to[3] : to[1];
    int64_t loads = toChannels ? count : side;
    int64_t stores = toChannels ? side : count;
    std::vector<std::string> vectors(size_t(side), nest.constant(0.0f, side));
    for (int64_t r = 0; r < loads; ++r)
      vectors[size_t(r)] =
          nest.load(source, nest.index(r * readStep, {{read, 1}}), side);
    vectors = transposeLanes(nest, std::move(vectors));
    for (int64_t r = 0; r < stores; ++r)
      nest.store(vectors[size_t(r)], target,
                 nest.index(r * writeStep, {{write, 1}}), side);
    nest.close();
    nest.close();
  };
  int64_t whole = channels / side * side;
  if (whole) {
    channelBlock(nest.open("c", 0, whole, side), side);
    nest.close();
  }
  // Lanes behind C are written, too.
  int64_t end = toChannels ? out.channelStride : channels;
  for (int64_t c = whole; c < end; c += side)
    channelBlock(nest.index(c, {}), std::clamp<int64_t>(channels - c, 0, side));
  Stage stage;
  stage.name = "s0";
  stage.chunks = in.dims[0] * chunks;
  stage.body = nest.text();
  payload.stages.push_back(std::move(stage));
  return payload;
}
