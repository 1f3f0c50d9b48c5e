//===- PlainTemplate.cpp - every task kind, loops as written --------------===//
//
// The path that has no schedule: the reference for templates, the fallback of a
// rejected kernel, and the only form of kinds without a template of their own.
// Channels are the innermost loop wherever they are contiguous, and LLVM's loop
// vectoriser does the rest.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Text.h"

#include <algorithm>

using namespace tlm;

namespace {

class PlainBuilder {
public:
  explicit PlainBuilder(const TemplateInput &input)
      : task(input.task), lanes(input.target.vectorFloats()) {
    payload.autoVectorize = true;
    payload.maxParallelism = input.target.threads;
    payload.packings.resize(task.operands.size());
  }

  Result<Payload> build() {
    switch (task.kind) {
    case TaskKind::Conv:
    case TaskKind::Depthwise:
      return convolution();
    case TaskKind::MatMul:
    case TaskKind::BatchMatMul:
      return matmul();
    case TaskKind::MaxPool:
    case TaskKind::AveragePool:
      return pool();
    case TaskKind::GlobalPool:
      return globalPool();
    case TaskKind::Pointwise:
    case TaskKind::Copy:
      return elementwise();
    case TaskKind::Concat:
      return concat();
    case TaskKind::Softmax:
      return softmax();
    case TaskKind::Compute: // written elsewhere
    case TaskKind::Normalize:
    case TaskKind::Attention:
      break;
    }
    return makeError("no plain form");
  }

private:
  using Array = LoopNest::Array;
  Array array(int operand) {
    size_t i = size_t(operand);
    return {argumentName(operand),
            payload.packings[i] ? payload.packings[i]->elementCount()
                                : task.operands[i].type.elementCount(),
            memoryType(task.operands[i].type.dtype)};
  }
  Array accumulators() { return {"%worker", payload.workerFloats}; }

  // Index of logical position `at` (one variable per dim of the output) in an
  // operand that broadcasts to the output.
  std::string broadcastIndex(const Operand &operand,
                             const std::vector<std::string> &at) {
    std::vector<int64_t> strides = operand.type.strides();
    size_t rank = strides.size();
    LoopNest::Index terms;
    for (size_t d = 0; d < rank && d < at.size(); ++d) {
      size_t from = rank - 1 - d, to = at.size() - 1 - d;
      if (operand.type.dims[from] != 1)
        terms.emplace_back(at[to], strides[from]);
    }
    return nest.index(operand.type.origin(), terms);
  }

  // Loads the extras, runs the epilogue and stores at `at`.
  void finish(const std::string &accumulator,
              const std::vector<std::string> &at) {
    std::vector<std::string> extras(task.operands.size());
    for (size_t i = 0; i < task.operands.size(); ++i)
      if (task.operands[i].role == Role::Extra)
        extras[i] =
            nest.load(array(int(i)), broadcastIndex(task.operands[i], at));
    std::string result = emitter.emitEpilogue(task, accumulator, extras);
    nest.raw(emitter.body());
    emitter.clearBody();
    nest.store(result, array(int(task.operands.size()) - 1),
               broadcastIndex(task.output(), at));
  }

  // Lanes behind C must hold finite values (BufferType.h).
  void zeroPaddingLanes(const std::vector<std::string> &nhw) {
    const BufferType &out = task.output().type;
    if (out.layout != Layout::Nhwc || out.channelStride == out.dims[1])
      return;
    std::vector<int64_t> strides = out.strides();
    std::string c = nest.open("pad", out.dims[1], out.channelStride);
    nest.store(nest.constant(0.0f), array(int(task.operands.size()) - 1),
               nest.index(out.origin(), {{nhw[0], strides[0]},
                                         {nhw[1], strides[2]},
                                         {nhw[2], strides[3]},
                                         {c, 1}}));
    nest.close();
  }

  Payload done(int64_t chunks) {
    Stage stage;
    stage.name = "s0";
    stage.chunks = chunks;
    stage.body = emitter.constants() + nest.text();
    payload.stages.push_back(std::move(stage));
    return std::move(payload);
  }

  Result<Payload> convolution();
  Result<Payload> matmul();
  Result<Payload> pool();
  Result<Payload> globalPool();
  Result<Payload> elementwise();
  Result<Payload> concat();
  Result<Payload> softmax();

  const Task &task;
  int64_t lanes;
  Payload payload;
  LoopNest nest;
  PointEmitter emitter{0, "e"};
};

} // namespace

Result<Payload> tlm::plainTemplate(const TemplateInput &input) {
  if (input.task.kind == TaskKind::Compute)
    return computeTemplate(input);
  if (input.task.kind == TaskKind::Normalize ||
      input.task.kind == TaskKind::Attention)
    return plainRowsTemplate(input);
  for (const Operand &operand : input.task.operands)
    if (operand.type.dtype != DType::F32 && input.task.kind != TaskKind::Copy)
      return makeError(cat("plain: ", nameOf(operand.type.dtype),
                           " operands have no kernel yet"));
  return PlainBuilder(input).build();
}

// One chunk an output row: acc[f] += x * w[kh][kw][c][f] over a row of filters.
Result<Payload> PlainBuilder::convolution() {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  const Operand &weight = *task.find(Role::Weight);
  if (!weight.isConstant)
    return makeError("plain: convolution weights are not constant");
  int64_t filters = out.dims[1], channels = in.dims[1];
  int64_t groups = task.kind == TaskKind::Depthwise ? channels : task.groups;
  int64_t groupChannels = channels / groups, groupFilters = filters / groups;
  const Window &wh = task.windows[0], &ww = task.windows[1];
  int weightIndex = task.indexOf(Role::Weight);
  Packing packing;
  packing.sourceDims = weight.type.dims;
  packing.dims = {{2, wh.kernel, 1},
                  {3, ww.kernel, 1},
                  {1, groupChannels, 1},
                  {0, filters, 1}};
  payload.packings[size_t(weightIndex)] = packing;
  payload.workerFloats = filters;

  std::vector<int64_t> is = in.strides();
  int64_t height = out.dims[2];
  std::string n = nest.affine(cat("d0 floordiv ", height), {"%chunk"});
  std::string oh = nest.affine(cat("d0 mod ", height), {"%chunk"});
  std::string ow = nest.open("ow", out.dims[3]);

  std::string f = nest.open("f", filters);
  int bias = task.indexOf(Role::Bias);
  nest.store(bias >= 0 ? nest.load(array(bias), f) : nest.constant(0.0f),
             accumulators(), f);
  nest.close();

  // A depthwise convolution has one channel a group: its filters are the inner
  // loop over channels instead.
  bool depthwise = groupChannels == 1 && groupFilters == 1;
  std::string kh = nest.open("kh", wh.kernel);
  std::string kw = nest.open("kw", ww.kernel);
  int64_t base = in.origin() - wh.padBegin * is[2] - ww.padBegin * is[3];
  LoopNest::Index pixel = {{n, is[0]},
                           {oh, wh.stride * is[2]},
                           {ow, ww.stride * is[3]},
                           {kh, wh.dilation * is[2]},
                           {kw, ww.dilation * is[3]}};
  auto multiplyAdd = [&](const std::string &x, const std::string &weightAt,
                         const std::string &filter) {
    std::string w = nest.load(array(weightIndex), weightAt);
    std::string old = nest.load(accumulators(), filter);
    std::string p = nest.fresh(), q = nest.fresh();
    nest.raw(cat("    ", p, " = arith.mulf ", x, ", ", w,
                 " fastmath<contract> : f32\n    ", q, " = arith.addf ", old,
                 ", ", p, " fastmath<contract> : f32\n"));
    nest.store(q, accumulators(), filter);
  };
  int64_t tap = groupChannels * filters;
  if (depthwise) {
    std::string c = nest.open("c", channels);
    LoopNest::Index at = pixel;
    at.emplace_back(c, is[1]);
    std::string x =
        nest.load(array(task.indexOf(Role::Input)), nest.index(base, at));
    multiplyAdd(x, nest.index(0, {{kh, ww.kernel * tap}, {kw, tap}, {c, 1}}),
                c);
    nest.close();
  } else {
    std::string g = nest.open("g", groups);
    std::string c = nest.open("c", groupChannels);
    LoopNest::Index at = pixel;
    at.emplace_back(g, groupChannels * is[1]);
    at.emplace_back(c, is[1]);
    std::string x =
        nest.load(array(task.indexOf(Role::Input)), nest.index(base, at));
    if (int scale = task.indexOf(Role::InputScale); scale >= 0) {
      std::string s =
          nest.load(array(scale),
                    nest.index(0, {{n, channels}, {g, groupChannels}, {c, 1}}));
      std::string scaled = nest.fresh();
      nest.raw(cat("    ", scaled, " = arith.mulf ", x, ", ", s, " : f32\n"));
      x = scaled;
    }
    std::string fi = nest.open("fi", groupFilters);
    std::string filter = nest.index(0, {{g, groupFilters}, {fi, 1}});
    multiplyAdd(x,
                nest.index(0, {{kh, ww.kernel * tap},
                               {kw, tap},
                               {c, filters},
                               {g, groupFilters},
                               {fi, 1}}),
                filter);
    nest.close();
    nest.close();
    nest.close();
  }
  nest.close();
  nest.close();

  std::string last = nest.open("f", filters);
  finish(nest.load(accumulators(), last), {n, last, oh, ow});
  nest.close();
  zeroPaddingLanes({n, oh, ow});
  nest.close();
  return done(out.dims[0] * height);
}

// MatMul and BatchMatMul; one chunk a row of one batch's result.
Result<Payload> PlainBuilder::matmul() {
  int weight = task.kind == TaskKind::MatMul ? task.indexOf(Role::Weight) : 1;
  const BufferType &x = task.operands[0].type;
  const BufferType &y = task.operands[size_t(weight)].type;
  const std::vector<int64_t> &out = task.output().type.dims;
  size_t rank = out.size();
  int64_t rows = out[rank - 2], columns = out[rank - 1];
  int64_t depth = x.dims[rank - 1];
  bool hasBatches = rank == 3;
  int64_t xBatch = hasBatches && x.dims[0] != 1 ? rows * depth : 0;
  int64_t yBatch = hasBatches && y.dims[0] != 1 ? columns * depth : 0;
  bool transposed = task.transposedWeight;
  if (!hasBatches && task.operands[size_t(weight)].isConstant) {
    Packing packing;
    packing.sourceDims = y.dims;
    packing.dims = transposed
                       ? std::vector<PackDim>{{1, depth, 1}, {0, columns, 1}}
                       : std::vector<PackDim>{{0, depth, 1}, {1, columns, 1}};
    payload.packings[size_t(weight)] = packing;
    transposed = false;
  }
  payload.workerFloats = columns;
  std::string b = nest.affine(cat("d0 floordiv ", rows), {"%chunk"});
  std::string m = nest.affine(cat("d0 mod ", rows), {"%chunk"});
  std::string first = nest.open("n", columns);
  int bias = task.indexOf(Role::Bias);
  nest.store(bias >= 0 ? nest.load(array(bias), first) : nest.constant(0.0f),
             accumulators(), first);
  nest.close();
  // The loop along contiguous elements of y is the inner one.
  std::string outer =
      transposed ? nest.open("n", columns) : nest.open("k", depth);
  std::string inner =
      transposed ? nest.open("k", depth) : nest.open("n", columns);
  const std::string &k = transposed ? inner : outer;
  const std::string &n = transposed ? outer : inner;
  std::string p =
      nest.load(array(0), nest.index(0, {{b, xBatch}, {m, depth}, {k, 1}}));
  std::string q =
      nest.load(array(weight), nest.index(0, {{b, yBatch},
                                              {k, transposed ? 1 : columns},
                                              {n, transposed ? depth : 1}}));
  std::string old = nest.load(accumulators(), n);
  std::string product = nest.fresh(), sum = nest.fresh();
  const char *flags = transposed ? "contract,reassoc" : "contract";
  nest.raw(cat("    ", product, " = arith.mulf ", p, ", ", q, " fastmath<",
               flags, "> : f32\n    ", sum, " = arith.addf ", old, ", ",
               product, " fastmath<", flags, "> : f32\n"));
  nest.store(sum, accumulators(), n);
  nest.close();
  nest.close();
  std::string last = nest.open("n", columns);
  std::vector<std::string> at = {m, last};
  if (hasBatches)
    at.insert(at.begin(), b);
  finish(nest.load(accumulators(), last), at);
  nest.close();
  return done((hasBatches ? out[0] : 1) * rows);
}

Result<Payload> PlainBuilder::pool() {
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  bool isMax = task.kind == TaskKind::MaxPool;
  const Window &wh = task.windows[0], &ww = task.windows[1];
  int64_t channels = out.dims[1], height = out.dims[2];
  std::vector<int64_t> is = in.strides();
  payload.workerFloats = channels;

  std::string n = nest.affine(cat("d0 floordiv ", height), {"%chunk"});
  std::string oh = nest.affine(cat("d0 mod ", height), {"%chunk"});
  std::string ow = nest.open("ow", out.dims[3]);
  std::string c0 = nest.open("c", channels);
  nest.store(nest.constant(isMax ? -__builtin_inff() : 0.0f), accumulators(),
             c0);
  nest.close();
  std::string kh = nest.open("kh", wh.kernel);
  std::string kw = nest.open("kw", ww.kernel);
  std::string c = nest.open("c", channels);
  int64_t base = in.origin() - wh.padBegin * is[2] - ww.padBegin * is[3];
  std::string x = nest.load(array(task.indexOf(Role::Input)),
                            nest.index(base, {{n, is[0]},
                                              {oh, wh.stride * is[2]},
                                              {ow, ww.stride * is[3]},
                                              {kh, wh.dilation * is[2]},
                                              {kw, ww.dilation * is[3]},
                                              {c, is[1]}}));
  std::string old = nest.load(accumulators(), c);
  std::string next = nest.fresh();
  nest.raw(cat("    ", next, " = arith.", isMax ? "maximumf " : "addf ", old,
               ", ", x, " : f32\n"));
  nest.store(next, accumulators(), c);
  nest.close();
  nest.close();
  nest.close();

  std::string scale;
  if (!isMax) {
    // Taps of the window inside the image, per dimension; all of them when
    // padding counts.
    auto extent = [&](const Window &w, const std::string &at, int64_t size) {
      std::string name = nest.fresh("count");
      if (task.countIncludePad || (!w.padBegin && !w.padEnd)) {
        nest.raw(
            cat("    ", name, " = arith.constant ", w.kernel, " : index\n"));
        return name;
      }
      std::string low = nest.fresh("low"), high = nest.fresh("high");
      // Taps [low, high) lie inside.
      nest.raw(cat("    ", low, " = affine.max affine_map<(d0) -> ((",
                   w.padBegin, " - d0 * ", w.stride, ") ceildiv ", w.dilation,
                   ", 0)>(", at, ")\n    ", high,
                   " = affine.min affine_map<(d0) -> ((", size + w.padBegin,
                   " - d0 * ", w.stride, ") ceildiv ", w.dilation, ", ",
                   w.kernel, ")>(", at, ")\n    ", name, " = arith.subi ", high,
                   ", ", low, " : index\n"));
      return name;
    };
    std::string eh = extent(wh, oh, in.dims[2]),
                ew = extent(ww, ow, in.dims[3]);
    std::string area = nest.fresh(), cast = nest.fresh(), real = nest.fresh();
    scale = nest.fresh();
    nest.raw(cat("    ", area, " = arith.muli ", eh, ", ", ew, " : index\n    ",
                 cat(cast, " = arith.index_cast ", area),
                 " : index to i32\n    ", real, " = arith.sitofp ", cast,
                 " : i32 to f32\n    ", scale, " = arith.divf ",
                 nest.constant(1.0f), ", ", real, " : f32\n"));
  }
  std::string last = nest.open("c", channels);
  std::string value = nest.load(accumulators(), last);
  if (!isMax) {
    std::string mean = nest.fresh();
    nest.raw(
        cat("    ", mean, " = arith.mulf ", value, ", ", scale, " : f32\n"));
    value = mean;
  }
  finish(value, {n, last, oh, ow});
  nest.close();
  zeroPaddingLanes({n, oh, ow});
  nest.close();
  return done(out.dims[0] * height);
}

Result<Payload> PlainBuilder::globalPool() {
  const BufferType &in = task.find(Role::Input)->type;
  int64_t channels = in.dims[1];
  std::vector<int64_t> is = in.strides();
  payload.workerFloats = channels;
  std::string c0 = nest.open("c", channels);
  nest.store(nest.constant(0.0f), accumulators(), c0);
  nest.close();
  std::string h = nest.open("h", in.dims[2]);
  std::string w = nest.open("w", in.dims[3]);
  std::string c = nest.open("c", channels);
  std::string x = nest.load(
      array(task.indexOf(Role::Input)),
      nest.index(in.origin(),
                 {{"%chunk", is[0]}, {h, is[2]}, {w, is[3]}, {c, is[1]}}));
  std::string old = nest.load(accumulators(), c), next = nest.fresh();
  nest.raw(cat("    ", next, " = arith.addf ", old, ", ", x, " : f32\n"));
  nest.store(next, accumulators(), c);
  nest.close();
  nest.close();
  nest.close();
  std::string last = nest.open("c", channels);
  std::string sum = nest.load(accumulators(), last), mean = nest.fresh();
  nest.raw(cat("    ", mean, " = arith.mulf ", sum, ", ",
               nest.constant(1.0f / float(in.dims[2] * in.dims[3])),
               " : f32\n"));
  std::string zero = nest.index(0, {});
  std::vector<std::string> at = {"%chunk", last};
  while (at.size() < task.output().type.dims.size())
    at.push_back(zero);
  finish(mean, at);
  nest.close();
  return done(in.dims[0]);
}

// Loops over the output's dims, the contiguous one innermost.
Result<Payload> PlainBuilder::elementwise() {
  const BufferType &out = task.output().type;
  int input = task.indexOf(Role::Input);
  size_t rank = out.dims.size();
  std::vector<size_t> order;
  for (size_t d = 0; d < rank; ++d)
    order.push_back(d);
  std::vector<int64_t> strides = out.strides();
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  std::vector<std::string> at(rank, nest.index(0, {}));
  int64_t chunks = 1;
  size_t opened = 0;
  for (size_t i = 0; i < rank; ++i) {
    size_t d = order[i];
    // The outermost loop with work in it is the chunks.
    if (chunks == 1 && i + 1 < rank && out.dims[d] > 1) {
      chunks = out.dims[d];
      at[d] = "%chunk";
      continue;
    }
    at[d] = nest.open("i", out.dims[d]);
    ++opened;
  }
  finish(
      nest.load(array(input), broadcastIndex(task.operands[size_t(input)], at)),
      at);
  for (size_t i = 0; i < opened; ++i)
    nest.close();
  if (out.layout == Layout::Nhwc && out.channelStride != out.dims[1]) {
    // Again over the pixels, for the padding lanes.
    std::vector<std::string> nhw;
    size_t loops = 0;
    for (size_t d : {size_t(0), size_t(2), size_t(3)})
      if (at[d] == "%chunk") {
        nhw.push_back("%chunk");
      } else {
        nhw.push_back(nest.open("p", out.dims[d]));
        ++loops;
      }
    zeroPaddingLanes(nhw);
    for (size_t i = 0; i < loops; ++i)
      nest.close();
  }
  return done(chunks);
}

// Inputs one after the other along dim 1.
Result<Payload> PlainBuilder::concat() {
  const BufferType &out = task.output().type;
  std::vector<int64_t> os = out.strides();
  bool channelsLast = out.layout == Layout::Nhwc;
  if (out.dims.size() != 4)
    return makeError("plain: concat of rank other than 4");
  int64_t height = out.dims[2];
  std::string n = nest.affine(cat("d0 floordiv ", height), {"%chunk"});
  std::string h = nest.affine(cat("d0 mod ", height), {"%chunk"});
  int64_t offset = 0;
  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    if (operand.role != Role::Input)
      continue;
    std::vector<int64_t> is = operand.type.strides();
    int64_t channels = operand.type.dims[1];
    std::string outer =
        channelsLast ? nest.open("w", out.dims[3]) : nest.open("c", channels);
    std::string inner =
        channelsLast ? nest.open("c", channels) : nest.open("w", out.dims[3]);
    const std::string &c = channelsLast ? inner : outer;
    const std::string &w = channelsLast ? outer : inner;
    std::string x =
        nest.load(array(int(i)),
                  nest.index(operand.type.origin(),
                             {{n, is[0]}, {c, is[1]}, {h, is[2]}, {w, is[3]}}));
    std::string result = emitter.emitEpilogue(task, x, {});
    nest.raw(emitter.body());
    emitter.clearBody();
    nest.store(result, array(int(task.operands.size()) - 1),
               nest.index(out.origin() + offset * os[1],
                          {{n, os[0]}, {c, os[1]}, {h, os[2]}, {w, os[3]}}));
    nest.close();
    nest.close();
    offset += channels;
  }
  std::string w = nest.open("w", out.dims[3]);
  zeroPaddingLanes({n, h, w});
  nest.close();
  return done(out.dims[0] * height);
}

// One chunk a row of the last dim: max, exp and sum, scale.
Result<Payload> PlainBuilder::softmax() {
  const BufferType &in = task.find(Role::Input)->type;
  int64_t columns = in.dims.back();
  int64_t rows = columns ? in.elementCount() / columns : 0;
  int input = task.indexOf(Role::Input);
  payload.workerFloats = columns + 2;
  int64_t maximum = columns, sum = columns + 1;
  auto slot = [&](int64_t i) { return nest.index(i, {}); };
  nest.store(nest.constant(-__builtin_inff()), accumulators(), slot(maximum));
  nest.store(nest.constant(0.0f), accumulators(), slot(sum));
  std::string i = nest.open("i", columns);
  std::string x =
      nest.load(array(input), nest.index(0, {{"%chunk", columns}, {i, 1}}));
  std::string m = nest.load(accumulators(), slot(maximum)), m1 = nest.fresh();
  nest.raw(cat("    ", m1, " = arith.maximumf ", m, ", ", x, " : f32\n"));
  nest.store(m1, accumulators(), slot(maximum));
  nest.close();
  std::string top = nest.load(accumulators(), slot(maximum));
  std::string j = nest.open("j", columns);
  x = nest.load(array(input), nest.index(0, {{"%chunk", columns}, {j, 1}}));
  std::string e =
      emitter.emit(Op::Exp, {emitter.emit(Op::Sub, {x, top}, 0, 0)}, 0, 0);
  nest.raw(emitter.body());
  emitter.clearBody();
  nest.store(e, accumulators(), j);
  std::string s = nest.load(accumulators(), slot(sum)), s1 = nest.fresh();
  nest.raw(cat("    ", s1, " = arith.addf ", s, ", ", e, " : f32\n"));
  nest.store(s1, accumulators(), slot(sum));
  nest.close();
  std::string total = nest.load(accumulators(), slot(sum));
  std::string inverse = nest.fresh();
  nest.raw(cat("    ", inverse, " = arith.divf ", nest.constant(1.0f), ", ",
               total, " : f32\n"));
  std::string k = nest.open("k", columns);
  std::string value = nest.load(accumulators(), k), scaled = nest.fresh();
  nest.raw(
      cat("    ", scaled, " = arith.mulf ", value, ", ", inverse, " : f32\n"));
  nest.store(scaled, array(int(task.operands.size()) - 1),
             nest.index(0, {{"%chunk", columns}, {k, 1}}));
  nest.close();
  return done(rows);
}
