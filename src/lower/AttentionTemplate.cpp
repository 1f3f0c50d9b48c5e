//===- AttentionTemplate.cpp - softmax(scale Q K^T + mask) V --------------===//
//
// Stage s0 packs K^T per head into panels [T/n][D][n] (PanelPacking.h). Stage
// s1 has one chunk a head and block of query rows; scores, probabilities and
// the result of the block stay in the worker's scratch (L1 and L2), so nothing
// of size S x T reaches memory. Q, K and V are read where the projections wrote
// them: no transpose of the heads, no split, no concat. Only where the head
// size of V is no multiple of a vector does s0 pack V too, with zeros behind
// it.
//
//===----------------------------------------------------------------------===//

#include "lower/HeadStrides.h"
#include "lower/LoopNest.h"
#include "lower/PanelPacking.h"
#include "lower/Payload.h"
#include "lower/Products.h"
#include "lower/Text.h"

#include <functional>

using namespace tlm;

namespace {

class AttentionBuilder {
public:
  explicit AttentionBuilder(const TemplateInput &input)
      : task(input.task), schedule(input.schedule),
        lanes(input.target.vectorFloats()) {}
  Result<Payload> build();

private:
  LoopNest::Array operand(int index) const {
    return {argumentName(index),
            task.operands[size_t(index)].type.elementCount()};
  }
  void pack();
  void attend();
  ViewText valueView(const std::string &batch, const std::string &keyHead);
  /// Calls step(column, lanes that count) for the vectors of `extent` columns.
  void eachVector(
      LoopNest &nest, int64_t extent,
      const std::function<void(const std::string &, int64_t)> &step) const {
    int64_t whole = extent / lanes * lanes;
    if (whole) {
      step(nest.open("d", 0, whole, lanes), lanes);
      nest.close();
    }
    if (whole < extent)
      step(nest.index(whole, {}), extent - whole);
  }
  void softmaxRows(LoopNest &nest, const std::string &batch,
                   const std::string &head, const std::string &firstRow);

  const Task &task;
  const Schedule &schedule;
  int64_t lanes;
  Payload payload;
  int64_t batches = 1, heads = 1, keyHeads = 1, rows = 1, keys = 1;
  int64_t depth = 1, valueDepth = 1;             ///< of a head
  int64_t paddedDepth = 1, paddedValueDepth = 1; ///< whole vectors
  int64_t block = 1, blocks = 1, paddedBlock = 1, tileT = 8;
  int64_t keyRow = 2, keyPanels = 1, paddedKeys = 1, valueRow = 2;
  int mask = -1;
  bool packsValues = false;
  int64_t valuesAt = 0; ///< in the shared scratch, behind the keys
  // Worker scratch, in floats: Q block, scores, result, 1 / row sum.
  int64_t scoresAt = 0, resultAt = 0, inverseAt = 0;
};

std::string vectorType(int64_t lanes) { return cat("vector<", lanes, "xf32>"); }

} // namespace

Result<Payload> AttentionBuilder::build() {
  const BufferType &q = task.operands[0].type, &k = task.operands[1].type;
  heads = task.attention.heads;
  keyHeads = task.attention.keyHeads;
  batches = q.dims[0];
  rows = q.dims.size() == 3 ? q.dims[1] : q.dims[2];
  keys = k.dims.size() == 3 ? k.dims[1] : k.dims[2];
  depth = q.dims.size() == 3 ? q.dims[2] / heads : q.dims[3];
  valueDepth = task.output().type.dims[2] / heads;
  paddedDepth = (depth + lanes - 1) / lanes * lanes;
  paddedValueDepth = (valueDepth + lanes - 1) / lanes * lanes;
  mask = task.indexOf(Role::Extra);
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
  if (paddedValueDepth / lanes % valueRow)
    return makeError("register_row does not divide the head size");
  keyPanels = (keys + keyRow * lanes - 1) / (keyRow * lanes);
  paddedKeys = keyPanels * keyRow * lanes;

  scoresAt = paddedBlock * paddedDepth;
  resultAt = scoresAt + paddedBlock * paddedKeys;
  inverseAt = resultAt + paddedBlock * paddedValueDepth;
  payload.workerFloats = inverseAt + (paddedBlock + 15) / 16 * 16;
  packsValues = valueDepth % lanes != 0;
  valuesAt = batches * keyHeads * paddedKeys * depth;
  payload.scratchFloats =
      valuesAt +
      (packsValues ? batches * keyHeads * keys * paddedValueDepth : 0);
  pack();
  attend();
  return std::move(payload);
}

// One chunk a (batch, key head): scratch[panel][d][n] = K[n][d], zero for n
// behind the last key; and scratch[panel][n][d] = V[n][d], zero for d behind
// the head.
void AttentionBuilder::pack() {
  LoopNest nest;
  std::string batch = nest.affine(cat("d0 floordiv ", keyHeads), {"%chunk"});
  std::string head = nest.affine(cat("d0 mod ", keyHeads), {"%chunk"});
  auto panels = [&](PanelCopy panel, const HeadStrides &s, int64_t columns,
                    int64_t scratchAt, int64_t chunkFloats) {
    int64_t panelLanes = panel.vectors * lanes;
    auto panelAt = [&](const std::string &p, int64_t count) {
      panel.columns = count;
      panel.sourceAt = nest.index(0, {{batch, s.batch},
                                      {head, s.head},
                                      {p, panelLanes * panel.columnStride}});
      panel.targetAt = nest.index(
          scratchAt, {{"%chunk", chunkFloats}, {p, panelLanes * panel.depth}});
      packPanel(nest, panel);
    };
    if (int64_t whole = columns / panelLanes) {
      panelAt(nest.open("p", whole), panelLanes);
      nest.close();
    }
    if (int64_t rest = columns % panelLanes)
      panelAt(nest.index(columns / panelLanes, {}), rest);
  };
  LoopNest::Array scratch{"%scratch", payload.scratchFloats};
  HeadStrides ks = HeadStrides::of(task.operands[1].type, keyHeads);
  panels({.source = operand(1),
          .target = scratch,
          .depthStride = 1,
          .columnStride = ks.position,
          .depth = depth,
          .vectors = keyRow,
          .lanes = lanes},
         ks, keys, 0, paddedKeys * depth);
  HeadStrides vs = HeadStrides::of(task.operands[2].type, keyHeads);
  if (packsValues)
    panels({.source = operand(2),
            .target = scratch,
            .depthStride = vs.position,
            .columnStride = 1,
            .depth = keys,
            .vectors = valueRow,
            .lanes = lanes},
           vs, valueDepth, valuesAt, keys * paddedValueDepth);
  Stage stage;
  stage.name = "s0";
  stage.chunks = batches * keyHeads;
  stage.body = nest.text();
  payload.stages.push_back(std::move(stage));
}

// Per row: scores += mask; p = exp(s - max); inverse = 1 / sum. Up to the next
// whole vector p is zero behind the last key.
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
  // Carries one vector over the row; `step` gets the column, the lanes that are
  // keys and the carried name, and returns the next one.
  auto carry = [&](float start, auto step) {
    std::string result = nest.constant(start, lanes);
    if (whole) {
      std::string low = nest.index(0, {}), high = nest.index(whole, {}),
                  stride = nest.index(lanes, {});
      std::string c = nest.fresh("c"), acc = nest.fresh("acc"), first = result;
      result = nest.fresh("res");
      nest.raw(cat("  ", result, " = scf.for ", c, " = ", low, " to ", high,
                   " step ", stride, " iter_args(", acc, " = ", first, ") -> (",
                   type, ") {\n"));
      std::string next = step(c, lanes, acc);
      nest.raw(cat("    scf.yield ", next, " : ", type, "\n  }\n"));
    }
    if (whole < keys)
      result = step(nest.index(whole, {}), keys - whole, result);
    return result;
  };
  auto reduce = [&](const char *kind, const std::string &vector,
                    const char *flags) {
    std::string r = nest.fresh();
    nest.raw(cat("    ", r, " = vector.reduction <", kind, ">, ", vector, flags,
                 " : ", type, " into f32\n"));
    return r;
  };
  auto broadcast = [&](const std::string &scalar) {
    std::string wide = nest.fresh();
    nest.raw(cat("    ", wide, " = vector.broadcast ", scalar, " : f32 to ",
                 type, "\n"));
    return wide;
  };
  bool sameMask = mask >= 0 && task.operands[size_t(mask)].type.dims[3] == 1;
  float least = -__builtin_inff();
  std::string zero = nest.constant(0.0f, lanes),
              lowest = nest.constant(least, lanes);

  std::string wideMax = carry(least, [&](const std::string &c, int64_t count,
                                         const std::string &acc) {
    std::string at = nest.index(0, {{row, 1}, {c, 1}});
    std::string s = nest.load(worker, at, lanes);
    if (mask >= 0) {
      std::string m =
          sameMask
              ? broadcast(nest.load(operand(mask), maskIndex(c)))
              : nest.loadFirst(operand(mask), maskIndex(c), lanes, count, zero);
      std::string sum = nest.fresh();
      nest.raw(
          cat("    ", sum, " = arith.addf ", s, ", ", m, " : ", type, "\n"));
      s = sum;
    }
    // Behind the last key the least value: its exponential is zero.
    if (count < lanes) {
      std::string kept = nest.fresh();
      nest.raw(cat("    ", kept, " = arith.select ",
                   nest.firstLanes(count, lanes), ", ", s, ", ", lowest,
                   " : vector<", lanes, "xi1>, ", type, "\n"));
      s = kept;
    }
    if (mask >= 0 || count < lanes)
      nest.store(s, worker, at, lanes);
    std::string next = nest.fresh();
    nest.raw(cat("    ", next, " = arith.maximumf ", acc, ", ", s,
                 " fastmath<nsz> : ", type, "\n"));
    return next;
  });
  std::string wideTop =
      broadcast(reduce("maximumf", wideMax, " fastmath<nsz>"));

  PointEmitter e(lanes, "ew");
  std::string wideSum =
      carry(0.0f, [&](const std::string &c, int64_t, const std::string &acc) {
        std::string at = nest.index(0, {{row, 1}, {c, 1}});
        std::string s = nest.load(worker, at, lanes);
        std::string p = e.emit(Op::Exp, {e.sub(s, wideTop)}, 0, 0);
        std::string next = e.add(acc, p);
        nest.raw(e.body());
        e.clearBody();
        nest.store(p, worker, at, lanes);
        return next;
      });
  // Our own sum: any order is right, a tree is fast.
  std::string sum = reduce("add", wideSum, " fastmath<reassoc>");
  std::string inverse = nest.fresh();
  nest.raw(cat("    ", inverse, " = arith.divf ", nest.constant(1.0f), ", ",
               sum, " : f32\n"));
  nest.store(inverse, worker, nest.index(inverseAt, {{q, 1}}));
  nest.close();
  nest.prepend(e.constants());
}

/// V in panels [panel][n][valueRow][lanes], where it is or packed.
ViewText AttentionBuilder::valueView(const std::string &batch,
                                     const std::string &keyHead) {
  int64_t panel = valueRow * lanes, panels = paddedValueDepth / panel;
  std::vector<int64_t> shape = {1, panels, keys, valueRow, lanes};
  if (packsValues)
    return view("V", "%scratch", payload.scratchFloats,
                cat(valuesAt, " + (", batch, " * ", keyHeads, " + ", keyHead,
                    ") * ", keys * paddedValueDepth),
                shape, {0, keys * panel, panel, lanes, 1}, false);
  HeadStrides s = HeadStrides::of(task.operands[2].type, keyHeads);
  return view("V", argumentName(2), task.operands[2].type.elementCount(),
              cat(batch, " * ", s.batch, " + ", keyHead, " * ", s.head), shape,
              {0, panel, s.position, lanes, 1}, false);
}

void AttentionBuilder::attend() {
  Stage stage;
  stage.name = "s1";
  stage.chunks = batches * heads * blocks;
  HeadStrides qs = HeadStrides::of(task.operands[0].type, heads);
  HeadStrides os = HeadStrides::of(task.output().type, heads);
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
  std::string zero = load.constant(0.0f, lanes);
  std::string r = load.open("r", block);
  eachVector(load, depth, [&](const std::string &d, int64_t count) {
    std::string x = load.loadFirst(operand(0),
                                   load.index(0, {{batch, qs.batch},
                                                  {head, qs.head},
                                                  {firstRow, qs.position},
                                                  {r, qs.position},
                                                  {d, 1}}),
                                   lanes, count, zero);
    std::string y = load.fresh();
    load.raw(cat("    ", y, " = arith.mulf ", x, ", ", scale, " : ",
                 vectorType(lanes), "\n"));
    load.store(y, worker, load.index(0, {{r, paddedDepth}, {d, 1}}), lanes);
  });
  load.close();
  stage.body = load.text();

  // Scores = Q K^T.
  Script script("s1");
  int64_t panelLanes = keyRow * lanes;
  ViewText q = view("Q", "%worker", payload.workerFloats, "0",
                    {1, paddedBlock, depth}, {0, paddedDepth, 1}, false);
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
  ViewText v = valueView(batchText, keyHeadText);
  ViewText o = view(
      "O", "%worker", payload.workerFloats, cat(resultAt),
      {1, paddedBlock, paddedValueDepth / lanes / valueRow, valueRow, lanes},
      {0, paddedValueDepth, valueRow * lanes, lanes, 1}, true);
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
  eachVector(finish, valueDepth, [&](const std::string &d, int64_t count) {
    std::string x = finish.load(
        worker, finish.index(resultAt, {{r, paddedValueDepth}, {d, 1}}), lanes);
    std::string y = finish.fresh();
    finish.raw(cat("    ", y, " = arith.mulf ", x, ", ", wide, " : ",
                   vectorType(lanes), "\n"));
    finish.storeFirst(y, operand(output),
                      finish.index(0, {{batch, os.batch},
                                       {head, os.head},
                                       {firstRow, os.position},
                                       {r, os.position},
                                       {d, 1}}),
                      lanes, count);
  });
  finish.close();
  stage.body += finish.text();
  payload.stages.push_back(std::move(stage));
}

Result<Payload> tlm::attentionTemplate(const TemplateInput &input) {
  return AttentionBuilder(input).build();
}
