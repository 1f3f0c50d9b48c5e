//===- MoveTemplates.cpp - global pooling, pointwise, copies --------------===//
//
// Kernels bound by cache bandwidth: explicit loops over whole vectors, with a
// scalar tail where a row is no multiple of the vector.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Text.h"

using namespace tlm;

// acc[c] = mean over the pixels. One chunk an image and group of channel
// vectors; each keeps `group` accumulators in registers.
Result<Payload> tlm::globalPoolTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  int64_t lanes = input.target.vectorFloats();
  int64_t channels = in.dims[1], vectors = channels / lanes;
  if (in.layout != Layout::Nhwc || channels % lanes)
    return makeError("global pool: channels are not whole vectors");
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra)
      return makeError("global pool: an epilogue with operands");
  Payload payload;
  payload.packings.resize(task.operands.size());
  payload.maxParallelism = input.schedule.get(Decision::MaxParallelism, "", 1);
  int64_t group = input.schedule.get(Decision::RegisterRow, "c", 1);
  if (vectors % group)
    return makeError("register_row does not divide the channel vectors");
  int64_t groups = vectors / group;

  std::vector<int64_t> is = in.strides();
  LoopNest nest;
  PointEmitter emitter(lanes, "e");
  LoopNest::Array source{argumentName(task.indexOf(Role::Input)),
                         in.elementCount()};
  LoopNest::Array target{argumentName(int(task.operands.size()) - 1),
                         out.elementCount()};
  std::string n = nest.affine(cat("d0 floordiv ", groups), {"%chunk"});
  std::string first =
      nest.affine(cat("(d0 mod ", groups, ") * ", group * lanes), {"%chunk"});
  std::string vector = cat("vector<", lanes, "xf32>");
  std::string zero = nest.constant(0.0f, lanes);
  std::string types =
      join(std::vector<std::string>(size_t(group), vector), ", ");
  auto results = [&](const std::string &name) {
    std::vector<std::string> names;
    for (int64_t j = 0; j < group; ++j)
      names.push_back(group == 1 ? name : cat(name, "#", j));
    return names;
  };
  auto loop = [&](const char *name, int64_t extent,
                  const std::vector<std::string> &starts,
                  std::string &variable) {
    std::vector<std::string> carried;
    for (int64_t j = 0; j < group; ++j)
      carried.push_back(cat("%", name, "_acc", j, " = ", starts[size_t(j)]));
    std::string result = nest.fresh("sum");
    std::string low = nest.index(0, {}), high = nest.index(extent, {}),
                step = nest.index(1, {});
    variable = nest.fresh(name);
    nest.raw(cat("  ", result, group > 1 ? cat(":", group) : "", " = scf.for ",
                 variable, " = ", low, " to ", high, " step ", step,
                 " iter_args(", join(carried, ", "), ") -> (", types, ") {\n"));
    return result;
  };
  // A sum per row, then the sum of the rows: the error grows with H + W, not
  // with H * W.
  std::vector<std::string> starts(size_t(group), zero);
  std::string h, w;
  std::string rows = loop("h", in.dims[2], starts, h);
  std::string columns = loop("w", in.dims[3], starts, w);
  std::vector<std::string> sums, rowSums;
  auto add = [&](const std::string &x, const std::string &y) {
    std::string sum = nest.fresh();
    nest.raw(
        cat("    ", sum, " = arith.addf ", x, ", ", y, " : ", vector, "\n"));
    return sum;
  };
  for (int64_t j = 0; j < group; ++j)
    sums.push_back(add(
        cat("%w_acc", j),
        nest.load(source,
                  nest.index(in.origin() + j * lanes,
                             {{n, is[0]}, {h, is[2]}, {w, is[3]}, {first, 1}}),
                  lanes)));
  nest.raw(cat("    scf.yield ", join(sums, ", "), " : ", types, "\n  }\n"));
  std::vector<std::string> rowResults = results(columns);
  for (int64_t j = 0; j < group; ++j)
    rowSums.push_back(add(cat("%h_acc", j), rowResults[size_t(j)]));
  nest.raw(cat("    scf.yield ", join(rowSums, ", "), " : ", types, "\n  }\n"));
  std::vector<std::string> totals = results(rows);
  for (int64_t j = 0; j < group; ++j) {
    std::string mean =
        emitter.mul(totals[size_t(j)],
                    emitter.constant(1.0f / float(in.dims[2] * in.dims[3])));
    std::string result = emitter.emitEpilogue(task, mean, {});
    nest.raw(emitter.body());
    emitter.clearBody();
    nest.store(result, target,
               nest.index(j * lanes, {{n, channels}, {first, 1}}), lanes);
  }
  Stage stage;
  stage.name = "s0";
  stage.chunks = in.dims[0] * groups;
  stage.body = emitter.constants() + nest.text();
  payload.stages.push_back(std::move(stage));
  return payload;
}

// Same-shaped nhwc operands, or flat ones: rows of whole vectors.
Result<Payload> tlm::pointwiseTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  const BufferType &out = task.output().type;
  int64_t lanes = input.target.vectorFloats();
  if (out.layout != Layout::Nhwc)
    return makeError("pointwise: output is not nhwc");
  enum class Form { Same, Channel, Constant };
  std::vector<Form> forms(task.operands.size(), Form::Same);
  Payload payload;
  payload.packings.resize(task.operands.size());
  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    const std::vector<int64_t> &d = operand.type.dims;
    if (operand.type.layout == Layout::Nhwc && d == out.dims)
      continue;
    bool perChannel =
        d.size() == 4 && d[1] == out.dims[1] && d[2] == 1 && d[3] == 1;
    if (perChannel && operand.isConstant && d[0] == 1) {
      Packing vector;
      vector.sourceDims = d;
      vector.dims = {{1, out.channelStride, 1}};
      payload.packings[i] = vector;
      forms[i] = Form::Constant;
      continue;
    }
    if (!perChannel || d[0] != out.dims[0] || d[1] % lanes ||
        operand.isConstant)
      return makeError("pointwise: an operand is neither per channel nor "
                       "shaped as the output");
    forms[i] = Form::Channel;
  }
  payload.maxParallelism = input.schedule.get(Decision::MaxParallelism, "", 1);
  int64_t height = out.dims[2];
  int64_t rows = input.schedule.get(Decision::ParallelTile, "rows", 1);
  if (height % rows)
    return makeError("parallel_tile does not divide its loop");
  int64_t rowChunks = height / rows;
  LoopNest nest;
  PointEmitter emitter(lanes, "e");
  std::string n = nest.affine(cat("d0 floordiv ", rowChunks), {"%chunk"});
  std::string q = nest.open("row", rows);
  std::string h = nest.affine(cat("(d0 mod ", rowChunks, ") * ", rows, " + d1"),
                              {"%chunk", q});
  std::string w = nest.open("w", out.dims[3]);
  std::string c = nest.open("c", 0, out.channelStride, lanes);
  auto at = [&](size_t i) {
    const BufferType &type = task.operands[i].type;
    std::vector<int64_t> s = type.strides();
    if (forms[i] == Form::Constant)
      return nest.index(0, {{c, 1}});
    return forms[i] == Form::Channel
               ? nest.index(0, {{n, s[0]}, {c, 1}})
               : nest.index(type.origin(),
                            {{n, s[0]}, {h, s[2]}, {w, s[3]}, {c, 1}});
  };
  std::vector<std::string> extras(task.operands.size());
  std::string x;
  for (size_t i = 0; i + 1 < task.operands.size(); ++i) {
    LoopNest::Array from{argumentName(int(i)),
                         payload.packings[i]
                             ? out.channelStride
                             : task.operands[i].type.elementCount()};
    std::string value = nest.load(from, at(i), lanes);
    (task.operands[i].role == Role::Extra ? extras[i] : x) = value;
  }
  std::string result = emitter.emitEpilogue(task, x, extras);
  nest.raw(emitter.body());
  emitter.clearBody();
  size_t last = task.operands.size() - 1;
  nest.store(result, {argumentName(int(last)), out.elementCount()}, at(last),
             lanes);
  nest.close();
  nest.close();
  nest.close();
  Stage stage;
  stage.name = "s0";
  stage.chunks = out.dims[0] * rowChunks;
  stage.body = emitter.constants() + nest.text();
  payload.stages.push_back(std::move(stage));
  return payload;
}

// Rows that are contiguous on both sides: the padded copy of an input.
Result<Payload> tlm::copyTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  int64_t lanes = input.target.vectorFloats();
  if (in.dims.size() == 4 && in.layout != out.layout)
    return layoutTemplate(input);
  if (in.dims != out.dims || in.dims.size() != 4)
    return plainTemplate(input);
  // Nhwc: a row is W * channelStride floats when there is nothing between.
  bool channelsLast = in.layout == Layout::Nhwc;
  if (channelsLast && in.channelStride != out.channelStride)
    return plainTemplate(input);
  int64_t rowFloats = channelsLast ? in.dims[3] * in.channelStride : in.dims[3];
  std::vector<int64_t> is = in.strides(), os = out.strides();
  // Chunk = one row: (n, h) or (n, c, h).
  std::vector<int64_t> outer =
      channelsLast ? std::vector<int64_t>{in.dims[0], 1, in.dims[2]}
                   : std::vector<int64_t>{in.dims[0], in.dims[1], in.dims[2]};
  int64_t rows = outer[1] * outer[2];
  Payload payload;
  payload.packings.resize(task.operands.size());
  payload.maxParallelism = input.schedule.get(Decision::MaxParallelism, "", 1);
  // A chunk is all rows of one image plane's `perChunk` rows.
  int64_t perChunk = input.schedule.get(Decision::ParallelTile, "rows", rows);
  if (rows % perChunk)
    return makeError("parallel_tile does not divide its loop");
  int64_t chunksPerImage = rows / perChunk;
  LoopNest nest;
  LoopNest::Array from{argumentName(0), in.elementCount()};
  LoopNest::Array to{argumentName(1), out.elementCount()};
  std::string q = nest.open("row", perChunk);
  std::string n = nest.affine(cat("d0 floordiv ", chunksPerImage), {"%chunk"});
  std::string row =
      nest.affine(cat("(d0 mod ", chunksPerImage, ") * ", perChunk, " + d1"),
                  {"%chunk", q});
  std::string c = nest.affine(cat("d0 floordiv ", outer[2]), {row});
  std::string h = nest.affine(cat("d0 mod ", outer[2]), {row});
  int64_t planeIn = channelsLast ? 0 : is[1],
          planeOut = channelsLast ? 0 : os[1];
  std::string source =
      nest.index(in.origin(), {{n, is[0]}, {c, planeIn}, {h, is[2]}});
  std::string target =
      nest.index(out.origin(), {{n, os[0]}, {c, planeOut}, {h, os[2]}});
  int64_t whole = rowFloats / lanes * lanes;
  for (bool wide : {true, false}) {
    int64_t begin = wide ? 0 : whole, end = wide ? whole : rowFloats;
    if (begin == end)
      continue;
    std::string i = nest.open("i", begin, end, wide ? lanes : 1);
    std::string v =
        nest.load(from, nest.index(0, {{source, 1}, {i, 1}}), wide ? lanes : 0);
    nest.store(v, to, nest.index(0, {{target, 1}, {i, 1}}), wide ? lanes : 0);
    nest.close();
  }
  nest.close();
  Stage stage;
  stage.name = "s0";
  stage.chunks = in.dims[0] * chunksPerImage;
  stage.body = nest.text();
  payload.stages.push_back(std::move(stage));
  return payload;
}
