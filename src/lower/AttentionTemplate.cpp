//===- AttentionTemplate.cpp - softmax(scale Q K^T + mask) V --------------===//
//
// Stage s0 packs K^T per head into panels [T/n][D][n] (PanelPacking.h). Stage
// s1 has one chunk a head and block of query rows; scores, probabilities and
// the result of the block stay in the worker's scratch (L1 and L2), so nothing
// of size S x T reaches memory. Q, K and V are read where the projections wrote
// them: no transpose of the heads, no split, no concat.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/PanelPacking.h"
#include "lower/Payload.h"
#include "lower/Products.h"
#include "lower/Text.h"

using namespace tlm;

namespace {

/// Strides of [batch, head, position, feature] in a Q, K, V or output buffer.
struct HeadStrides {
  int64_t batch = 0, head = 0, position = 0;
};

class AttentionBuilder {
public:
  explicit AttentionBuilder(const TemplateInput &input)
      : task(input.task), schedule(input.schedule),
        lanes(input.target.vectorFloats()) {}
  Result<Payload> build();

private:
  HeadStrides stridesOf(const BufferType &type, int64_t heads) const;
  LoopNest::Array operand(int index) const {
    return {argumentName(index),
            task.operands[size_t(index)].type.elementCount()};
  }
  void packKeys();
  void attend();
  void softmaxRows(LoopNest &nest, const std::string &batch,
                   const std::string &head, const std::string &firstRow);

  const Task &task;
  const Schedule &schedule;
  int64_t lanes;
  Payload payload;
  int64_t batches = 1, heads = 1, keyHeads = 1, rows = 1, keys = 1, depth = 1;
  int64_t block = 1, blocks = 1, paddedBlock = 1, tileT = 8;
  int64_t keyRow = 2, keyPanels = 1, paddedKeys = 1, valueRow = 2;
  int mask = -1;
  // Worker scratch, in floats: Q block, scores, result, 1 / row sum.
  int64_t scoresAt = 0, resultAt = 0, inverseAt = 0;
};

std::string vectorType(int64_t lanes) { return cat("vector<", lanes, "xf32>"); }

} // namespace

HeadStrides AttentionBuilder::stridesOf(const BufferType &type,
                                        int64_t headCount) const {
  if (type.dims.size() == 3)
    return {type.dims[1] * type.dims[2], type.dims[2] / headCount,
            type.dims[2]};
  return {type.dims[1] * type.dims[2] * type.dims[3],
          type.dims[2] * type.dims[3], type.dims[3]};
}

Result<Payload> AttentionBuilder::build() {
  const BufferType &q = task.operands[0].type, &k = task.operands[1].type;
  heads = task.attention.heads;
  keyHeads = task.attention.keyHeads;
  batches = q.dims[0];
  rows = q.dims.size() == 3 ? q.dims[1] : q.dims[2];
  keys = k.dims.size() == 3 ? k.dims[1] : k.dims[2];
  depth = q.dims.size() == 3 ? q.dims[2] / heads : q.dims[3];
  mask = task.indexOf(Role::Extra);
  if (depth % lanes)
    return makeError("attention: the head size is no multiple of a vector");
  payload.packings.resize(task.operands.size());
  payload.maxParallelism = schedule.get(Decision::MaxParallelism, "", 1);
  block = schedule.get(Decision::ParallelTile, "rows", rows);
  if (rows % block)
    return makeError("parallel_tile does not divide its loop");
  blocks = rows / block;
  tileT = std::min(block, schedule.get(Decision::RegisterTile, "w", 8));
  paddedBlock = (block + tileT - 1) / tileT * tileT;
  keyRow = schedule.get(Decision::RegisterRow, "keys", 2);
  valueRow = schedule.get(Decision::RegisterRow, "f", 2);
  if (depth / lanes % valueRow)
    return makeError("register_row does not divide the head size");
  keyPanels = (keys + keyRow * lanes - 1) / (keyRow * lanes);
  paddedKeys = keyPanels * keyRow * lanes;

  scoresAt = paddedBlock * depth;
  resultAt = scoresAt + paddedBlock * paddedKeys;
  inverseAt = resultAt + paddedBlock * depth;
  payload.workerFloats = inverseAt + (paddedBlock + 15) / 16 * 16;
  payload.scratchFloats = batches * keyHeads * paddedKeys * depth;
  packKeys();
  attend();
  return std::move(payload);
}

// One chunk a (batch, key head): scratch[panel][d][n] = K[n][d], zero for n
// behind the last key.
void AttentionBuilder::packKeys() {
  HeadStrides s = stridesOf(task.operands[1].type, keyHeads);
  LoopNest nest;
  std::string batch = nest.affine(cat("d0 floordiv ", keyHeads), {"%chunk"});
  std::string head = nest.affine(cat("d0 mod ", keyHeads), {"%chunk"});
  int64_t panelLanes = keyRow * lanes;
  PanelCopy panel{.source = operand(1),
                  .target = {"%scratch", payload.scratchFloats},
                  .depthStride = 1,
                  .columnStride = s.position,
                  .depth = depth,
                  .vectors = keyRow,
                  .lanes = lanes};
  auto panelAt = [&](const std::string &p, int64_t columns) {
    panel.columns = columns;
    panel.sourceAt = nest.index(
        0, {{batch, s.batch}, {head, s.head}, {p, panelLanes * s.position}});
    panel.targetAt = nest.index(
        0, {{"%chunk", paddedKeys * depth}, {p, panelLanes * depth}});
    packPanel(nest, panel);
  };
  if (int64_t whole = keys / panelLanes) {
    panelAt(nest.open("p", whole), panelLanes);
    nest.close();
  }
  if (int64_t rest = keys % panelLanes)
    panelAt(nest.index(keys / panelLanes, {}), rest);
  Stage stage;
  stage.name = "s0";
  stage.chunks = batches * keyHeads;
  stage.body = nest.text();
  payload.stages.push_back(std::move(stage));
}

// Per row: scores += mask; p = exp(s - max); inverse = 1 / sum. Columns behind
// the last key are not looked at.
void AttentionBuilder::softmaxRows(LoopNest &nest, const std::string &batch,
                                   const std::string &head,
                                   const std::string &firstRow) {
  LoopNest::Array worker{"%worker", payload.workerFloats};
  std::string type = vectorType(lanes);
  std::string q = nest.open("q", block);
  std::string row = nest.index(scoresAt, {{q, paddedKeys}});
  auto maskIndex = [&](const std::string &column) {
    const BufferType &m = task.operands[size_t(mask)].type;
    std::vector<int64_t> s = m.strides();
    std::string absolute = nest.index(0, {{firstRow, 1}, {q, 1}});
    return nest.index(0, {{batch, m.dims[0] == 1 ? 0 : s[0]},
                          {head, m.dims[1] == 1 ? 0 : s[1]},
                          {absolute, m.dims[2] == 1 ? 0 : s[2]},
                          {column, m.dims[3] == 1 ? 0 : 1}});
  };
  int64_t whole = keys / lanes * lanes;
  // A loop that carries one value; `step` gets the column and the carried name
  // and returns the next one.
  auto carry = [&](const std::string &start, const std::string &carriedType,
                   int64_t from, int64_t to, int64_t by, auto step) {
    if (from == to)
      return start;
    std::string low = nest.index(from, {}), high = nest.index(to, {}),
                stride = nest.index(by, {});
    std::string c = nest.fresh("c"), acc = nest.fresh("acc"),
                result = nest.fresh("res");
    nest.raw(cat("  ", result, " = scf.for ", c, " = ", low, " to ", high,
                 " step ", stride, " iter_args(", acc, " = ", start, ") -> (",
                 carriedType, ") {\n"));
    std::string next = step(c, acc);
    nest.raw(cat("    scf.yield ", next, " : ", carriedType, "\n  }\n"));
    return result;
  };
  auto reduce = [&](const char *kind, const std::string &vector,
                    const std::string &with, const char *flags) {
    std::string r = nest.fresh();
    nest.raw(cat("    ", r, " = vector.reduction <", kind, ">, ", vector, ", ",
                 with, flags, " : ", type, " into f32\n"));
    return r;
  };
  bool sameMask = mask >= 0 && task.operands[size_t(mask)].type.dims[3] == 1;

  auto maximum = [&](int64_t n) {
    return [&, n](const std::string &c, const std::string &acc) {
      std::string at = nest.index(0, {{row, 1}, {c, 1}});
      std::string s = nest.load(worker, at, n);
      std::string t = n ? type : std::string("f32");
      if (mask >= 0) {
        std::string m =
            nest.load(operand(mask), maskIndex(c), sameMask ? 0 : n);
        if (sameMask && n) {
          std::string wide = nest.fresh();
          nest.raw(cat("    ", wide, " = vector.broadcast ", m, " : f32 to ",
                       type, "\n"));
          m = wide;
        }
        std::string sum = nest.fresh();
        nest.raw(
            cat("    ", sum, " = arith.addf ", s, ", ", m, " : ", t, "\n"));
        nest.store(sum, worker, at, n);
        s = sum;
      }
      std::string next = nest.fresh();
      nest.raw(cat("    ", next, " = arith.maximumf ", acc, ", ", s,
                   " fastmath<nsz> : ", t, "\n"));
      return next;
    };
  };
  std::string wideMax = carry(nest.constant(-__builtin_inff(), lanes), type, 0,
                              whole, lanes, maximum(lanes));
  std::string narrowMax = carry(nest.constant(-__builtin_inff()), "f32", whole,
                                keys, 1, maximum(0));
  std::string top = reduce("maximumf", wideMax, narrowMax, " fastmath<nsz>");
  std::string wideTop = nest.fresh();
  nest.raw(cat("    ", wideTop, " = vector.broadcast ", top, " : f32 to ", type,
               "\n"));

  PointEmitter wide(lanes, "ew"), narrow(0, "en");
  auto exponential = [&](int64_t n) {
    return [&, n](const std::string &c, const std::string &acc) {
      std::string at = nest.index(0, {{row, 1}, {c, 1}});
      std::string s = nest.load(worker, at, n);
      PointEmitter &e = n ? wide : narrow;
      std::string p = e.emit(Op::Exp, {e.sub(s, n ? wideTop : top)}, 0, 0);
      std::string next = e.add(acc, p);
      nest.raw(e.body());
      e.clearBody();
      nest.store(p, worker, at, n);
      return next;
    };
  };
  std::string wideSum = carry(nest.constant(0.0f, lanes), type, 0, whole, lanes,
                              exponential(lanes));
  std::string narrowSum =
      carry(nest.constant(0.0f), "f32", whole, keys, 1, exponential(0));
  // Our own sum: any order is right, a tree is fast.
  std::string sum = reduce("add", wideSum, narrowSum, " fastmath<reassoc>");
  std::string inverse = nest.fresh();
  nest.raw(cat("    ", inverse, " = arith.divf ", nest.constant(1.0f), ", ",
               sum, " : f32\n"));
  nest.store(inverse, worker, nest.index(inverseAt, {{q, 1}}));
  nest.close();
  nest.prepend(wide.constants() + narrow.constants());
}

void AttentionBuilder::attend() {
  Stage stage;
  stage.name = "s1";
  stage.chunks = batches * heads * blocks;
  HeadStrides qs = stridesOf(task.operands[0].type, heads);
  HeadStrides vs = stridesOf(task.operands[2].type, keyHeads);
  HeadStrides os = stridesOf(task.output().type, heads);
  int output = int(task.operands.size()) - 1;
  LoopNest::Array worker{"%worker", payload.workerFloats};
  std::string batchText = cat("(d0 floordiv ", heads * blocks, ")");
  std::string headText = cat("((d0 floordiv ", blocks, ") mod ", heads, ")");
  std::string keyHeadText = cat("((d0 floordiv ", blocks * (heads / keyHeads),
                                ") mod ", keyHeads, ")");
  auto position = [&](LoopNest &nest, std::string &batch, std::string &head,
                      std::string &firstRow) {
    batch = nest.affine(batchText, {"%chunk"});
    head = nest.affine(headText, {"%chunk"});
    firstRow = nest.affine(cat("(d0 mod ", blocks, ") * ", block), {"%chunk"});
  };

  // Q, scaled, into scratch.
  LoopNest load("l"), middle("m"), finish("n");
  std::string batch, head, firstRow;
  position(load, batch, head, firstRow);
  std::string scale = load.constant(task.attention.scale, lanes);
  std::string r = load.open("r", block), d = load.open("d", 0, depth, lanes);
  std::string x = load.load(operand(0),
                            load.index(0, {{batch, qs.batch},
                                           {head, qs.head},
                                           {firstRow, qs.position},
                                           {r, qs.position},
                                           {d, 1}}),
                            lanes);
  std::string y = load.fresh();
  load.raw(cat("    ", y, " = arith.mulf ", x, ", ", scale, " : ",
               vectorType(lanes), "\n"));
  load.store(y, worker, load.index(0, {{r, depth}, {d, 1}}), lanes);
  load.close();
  load.close();
  stage.body = load.text();

  // Scores = Q K^T.
  Script script("s1");
  int64_t panelLanes = keyRow * lanes;
  ViewText q = view("Q", "%worker", payload.workerFloats, "0",
                    {1, paddedBlock, depth}, {0, depth, 1}, false);
  ViewText k = view("K", "%scratch", payload.scratchFloats,
                    cat("(", batchText, " * ", keyHeads, " + ", keyHeadText,
                        ") * ", paddedKeys * depth),
                    {1, keyPanels, depth, keyRow, lanes},
                    {0, depth * panelLanes, panelLanes, lanes, 1}, false);
  ViewText s = view("S", "%worker", payload.workerFloats, cat(scoresAt),
                    {1, paddedBlock, keyPanels, keyRow, lanes},
                    {0, paddedKeys, panelLanes, lanes, 1}, true);
  stage.body += q.ops + k.ops + s.ops;
  appendProducts({"scores", "Q", "K", "S", q, k, s, tileT}, stage.body, script);

  position(middle, batch, head, firstRow);
  softmaxRows(middle, batch, head, firstRow);
  stage.body += middle.text();

  // Result = P V.
  ViewText p = view("P", "%worker", payload.workerFloats, cat(scoresAt),
                    {1, paddedBlock, keys}, {0, paddedKeys, 1}, false);
  ViewText v =
      view("V", argumentName(2), task.operands[2].type.elementCount(),
           cat(batchText, " * ", vs.batch, " + ", keyHeadText, " * ", vs.head),
           {1, depth / lanes / valueRow, keys, valueRow, lanes},
           {0, valueRow * lanes, vs.position, lanes, 1}, false);
  ViewText o = view("O", "%worker", payload.workerFloats, cat(resultAt),
                    {1, paddedBlock, depth / lanes / valueRow, valueRow, lanes},
                    {0, depth, valueRow * lanes, lanes, 1}, true);
  stage.body += p.ops + v.ops + o.ops;
  appendProducts({"result", "P", "V", "O", p, v, o, tileT}, stage.body, script);
  finishProducts(script);
  stage.script = script.text();

  // Rows times 1 / sum, to where the next projection reads them.
  position(finish, batch, head, firstRow);
  r = finish.open("r", block);
  std::string inverse = finish.load(worker, finish.index(inverseAt, {{r, 1}}));
  std::string wide = finish.fresh();
  finish.raw(cat("    ", wide, " = vector.broadcast ", inverse, " : f32 to ",
                 vectorType(lanes), "\n"));
  d = finish.open("d", 0, depth, lanes);
  x = finish.load(worker, finish.index(resultAt, {{r, depth}, {d, 1}}), lanes);
  y = finish.fresh();
  finish.raw(cat("    ", y, " = arith.mulf ", x, ", ", wide, " : ",
                 vectorType(lanes), "\n"));
  finish.store(y, operand(output),
               finish.index(0, {{batch, os.batch},
                                {head, os.head},
                                {firstRow, os.position},
                                {r, os.position},
                                {d, 1}}),
               lanes);
  finish.close();
  finish.close();
  stage.body += finish.text();
  payload.stages.push_back(std::move(stage));
}

Result<Payload> tlm::attentionTemplate(const TemplateInput &input) {
  return AttentionBuilder(input).build();
}
