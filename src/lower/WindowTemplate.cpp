//===- WindowTemplate.cpp - depthwise convolution and pooling -------------===//
//
// One linalg.generic over the output whose inputs are the window's taps: for
// every (kh, kw) a strided view of the input, shifted by the tap, and, for a
// depthwise convolution, that tap's weights per channel. So there is no
// reduction loop to unroll, overlapping loads of neighbouring outputs are the
// same load to LLVM, and the K*K weight vectors stay in registers while the
// channel block is the outer loop.
//
//===----------------------------------------------------------------------===//

#include "lower/Payload.h"
#include "lower/Script.h"
#include "lower/Text.h"

using namespace tlm;

static std::vector<int64_t> imageRowPixel(const BufferType &type) {
  std::vector<int64_t> s = type.strides();
  return {s[0], s[2], s[3]};
}

Result<Payload> tlm::windowTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  const Schedule &schedule = input.schedule;
  int64_t lanes = input.target.vectorFloats();
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  if (in.layout != Layout::Nhwc || out.layout != Layout::Nhwc)
    return makeError("window: buffers are not nhwc");
  if (in.channelStride % lanes || in.channelStride != out.channelStride)
    return makeError("window: channels are not whole vectors");
  bool depthwise = task.kind == TaskKind::Depthwise;
  bool average = task.kind == TaskKind::AveragePool;
  const Window &wh = task.windows[0], &ww = task.windows[1];
  if (average && !task.countIncludePad &&
      (wh.padBegin || wh.padEnd || ww.padBegin || ww.padEnd))
    return makeError("window: clipped divisors of an average");
  int64_t taps = wh.kernel * ww.kernel;
  if (taps > 64)
    return makeError("window: more than 64 taps");

  Payload payload;
  payload.packings.resize(task.operands.size());
  payload.maxParallelism = schedule.get(Decision::MaxParallelism, "", 1);
  int64_t blocks = in.channelStride / lanes;
  int64_t height = out.dims[2], width = out.dims[3], images = out.dims[0];
  int64_t chunkRows = schedule.get(Decision::ParallelTile, "rows", height);
  int64_t chunkBlocks = schedule.get(Decision::ParallelTile, "c", blocks);
  if (height % chunkRows || blocks % chunkBlocks)
    return makeError("parallel_tile does not divide its loop");
  int64_t rowChunks = height / chunkRows, blockChunks = blocks / chunkBlocks;

  auto offset = [&](const std::vector<int64_t> &s, int64_t rowStep) {
    return cat("(d0 floordiv ", rowChunks * blockChunks, ") * ", s[0],
               " + ((d0 floordiv ", blockChunks, ") mod ", rowChunks, ") * ",
               chunkRows * rowStep, " + (d0 mod ", blockChunks, ") * ",
               chunkBlocks * lanes);
  };
  std::string vectorOffset =
      cat("(d0 mod ", blockChunks, ") * ", chunkBlocks * lanes);

  std::vector<int64_t> is = imageRowPixel(in), os = imageRowPixel(out);
  std::vector<int64_t> sizes = {chunkRows, width, chunkBlocks, lanes};
  std::string dims = "h, w, c, v";
  std::string identity = cat("affine_map<(", dims, ") -> (", dims, ")>");
  std::string perChannel = cat("affine_map<(", dims, ") -> (c, v)>");

  Stage stage;
  stage.name = "s0";
  stage.chunks = images * rowChunks * blockChunks;
  stage.rowBlocks = images == 1 ? rowChunks : 1;
  stage.channelBlocks = blockChunks;
  std::vector<std::string> maps, ins, types, blockArgs;
  auto operandView = [&](const std::string &name, int operand,
                         const std::string &at, bool channelOnly,
                         const std::vector<int64_t> &strides) {
    size_t i = size_t(operand);
    int64_t floats = payload.packings[i] ? payload.packings[i]->elementCount()
                                         : task.operands[i].type.elementCount();
    ViewText v =
        view(name, argumentName(operand), floats, at,
             channelOnly ? std::vector<int64_t>{chunkBlocks, lanes} : sizes,
             strides, false);
    stage.body += v.ops;
    maps.push_back(channelOnly ? perChannel : identity);
    ins.push_back(cat("%", name, "_t"));
    types.push_back(v.tensorType);
    blockArgs.push_back(cat("%", name, "_: f32"));
  };

  int inputIndex = task.indexOf(Role::Input);
  for (int64_t kh = 0; kh < wh.kernel; ++kh)
    for (int64_t kw = 0; kw < ww.kernel; ++kw)
      operandView(cat("x", kh * ww.kernel + kw), inputIndex,
                  cat(in.origin() + (kh * wh.dilation - wh.padBegin) * is[1] +
                          (kw * ww.dilation - ww.padBegin) * is[2],
                      " + ", offset(is, wh.stride * is[1])),
                  false, {wh.stride * is[1], ww.stride * is[2], lanes, 1});

  PointEmitter emitter(0, "e");
  std::string accumulator;
  if (depthwise) {
    int weightIndex = task.indexOf(Role::Weight);
    Packing packing;
    packing.sourceDims = task.operands[size_t(weightIndex)].type.dims;
    packing.dims = {
        {2, wh.kernel, 1}, {3, ww.kernel, 1}, {0, in.channelStride, 1}};
    payload.packings[size_t(weightIndex)] = packing;
    for (int64_t t = 0; t < taps; ++t)
      operandView(cat("w", t), weightIndex,
                  cat(t * in.channelStride, " + ", vectorOffset), true,
                  {lanes, 1});
    if (int bias = task.indexOf(Role::Bias); bias >= 0) {
      Packing vector;
      vector.sourceDims = task.operands[size_t(bias)].type.dims;
      vector.dims = {{0, in.channelStride, 1}};
      payload.packings[size_t(bias)] = vector;
      operandView("bias", bias, vectorOffset, true, {lanes, 1});
      accumulator = "%bias_";
    }
    for (int64_t t = 0; t < taps; ++t) {
      std::string x = cat("%x", t, "_"), w = cat("%w", t, "_");
      std::string product = emitter.mul(x, w);
      accumulator =
          accumulator.empty() ? product : emitter.add(accumulator, product);
    }
  } else {
    accumulator = "%x0_";
    for (int64_t t = 1; t < taps; ++t)
      accumulator =
          average
              ? emitter.add(accumulator, cat("%x", t, "_"))
              : emitter.emit(Op::Max, {accumulator, cat("%x", t, "_")}, 0, 0);
    if (average)
      accumulator =
          emitter.mul(accumulator, emitter.constant(1.0f / float(taps)));
    // Canonicalisation would make a copy of an identity.
    if (taps == 1)
      accumulator = emitter.fma(accumulator, emitter.constant(1.0f),
                                emitter.constant(-0.0f));
  }

  std::vector<std::string> extras(task.operands.size());
  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    if (operand.role != Role::Extra)
      continue;
    std::string name = cat("r", i);
    const std::vector<int64_t> &d = operand.type.dims;
    if (operand.type.layout == Layout::Nhwc && d == out.dims) {
      std::vector<int64_t> s = imageRowPixel(operand.type);
      operandView(name, int(i),
                  cat(operand.type.origin(), " + ", offset(s, s[1])), false,
                  {s[1], s[2], lanes, 1});
    } else if (operand.isConstant && d.size() == 4 && d[0] == 1 &&
               d[1] == out.dims[1] && d[2] == 1 && d[3] == 1) {
      Packing vector;
      vector.sourceDims = d;
      vector.dims = {{1, in.channelStride, 1}};
      payload.packings[i] = vector;
      operandView(name, int(i), vectorOffset, true, {lanes, 1});
    } else {
      return makeError("window: an epilogue operand is neither a constant per "
                       "channel nor shaped as the output");
    }
    extras[i] = cat("%", name, "_");
  }
  std::string result = emitter.emitEpilogue(task, accumulator, extras);

  ViewText o =
      view("out", argumentName(int(task.operands.size()) - 1),
           out.elementCount(), cat(out.origin(), " + ", offset(os, os[1])),
           sizes, {os[1], os[2], lanes, 1}, true);
  maps.push_back(identity);
  blockArgs.push_back("%o: f32");
  stage.body += o.ops + emitter.constants();
  stage.body += cat(
      "  %y = linalg.generic {indexing_maps = [", join(maps, ", "),
      "], iterator_types = [\"parallel\", \"parallel\", \"parallel\", "
      "\"parallel\"]} ins(",
      join(ins, ", "), " : ", join(types, ", "),
      ") outs(%out_t : ", o.tensorType, ") attrs = {window} {\n  ^bb0(",
      join(blockArgs, ", "), "):\n", emitter.body(), "      linalg.yield ",
      result, " : f32\n  } -> ", o.tensorType,
      "\n  bufferization.materialize_in_destination %y in restrict writable "
      "%out : (",
      o.tensorType, ", ", o.memrefType, ") -> ()\n");

  Script script("s0");
  int64_t tileH = schedule.get(Decision::RegisterTile, "h", 1);
  int64_t tileW = schedule.get(Decision::RegisterTile, "w", 7);
  if (chunkRows % tileH)
    return makeError("register_tile h does not divide its loop");
  auto loopOrder = static_cast<LoopOrder>(
      schedule.get(Decision::LoopOrder, "", int64_t(LoopOrder::PanelsOuter)));
  script.fuseTiles(script.matchTag("window"), tileH,
                   balancedTiles(width, tileW), loopOrder, 4);
  script.clean();
  script.vectorizeAndHoist();
  stage.script = script.text();
  payload.stages.push_back(std::move(stage));
  return payload;
}
