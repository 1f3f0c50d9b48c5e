//===- PlainRows.cpp - normalisation and attention as written -------------===//
//
// One chunk a row of the result; sums live in the worker's scratch.
//
//===----------------------------------------------------------------------===//

#include "lower/HeadStrides.h"
#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Text.h"

#include <functional>

using namespace tlm;

namespace {

class PlainRows {
public:
  explicit PlainRows(const TemplateInput &input) : task(input.task) {
    payload.autoVectorize = true;
    payload.maxParallelism = input.target.threads;
    payload.packings.resize(task.operands.size());
  }
  Payload normalize();
  Payload attend();

private:
  LoopNest::Array array(int operand) const {
    return {argumentName(operand),
            task.operands[size_t(operand)].type.elementCount()};
  }
  LoopNest::Array worker() const { return {"%worker", payload.workerFloats}; }
  int output() const { return int(task.operands.size()) - 1; }

  /// Writes what the emitter holds; returns `value`.
  std::string flushed(const std::string &value) {
    nest.raw(e.body());
    e.clearBody();
    return value;
  }

  using Term = std::function<std::string(const std::string &i)>;

  /// Combines the terms of a loop in scratch element `slot`; its last value.
  std::string reduce(int64_t slot, float start, const char *kind,
                     int64_t extent, const Term &term) {
    std::string at = nest.index(slot, {});
    nest.store(nest.constant(start), worker(), at);
    std::string x = term(nest.open("i", extent));
    std::string old = nest.load(worker(), at), next = nest.fresh();
    nest.raw(
        cat("    ", next, " = arith.", kind, " ", old, ", ", x, " : f32\n"));
    nest.store(next, worker(), at);
    nest.close();
    return nest.load(worker(), at);
  }

  Payload done(int64_t chunks) {
    Stage stage;
    stage.name = "s0";
    stage.chunks = chunks;
    stage.body = e.constants() + nest.text();
    payload.stages.push_back(std::move(stage));
    return std::move(payload);
  }

  const Task &task;
  Payload payload;
  LoopNest nest;
  PointEmitter e{0, "e"};
};

} // namespace

Payload PlainRows::normalize() {
  const BufferType &type = task.operands[0].type;
  int64_t columns = type.dims.back();
  payload.workerFloats = 2;
  auto at = [&](const std::string &i) {
    return nest.index(0, {{"%chunk", columns}, {i, 1}});
  };
  std::string inverseCount = e.constant(1.0f / float(columns)), mean;
  if (task.norm == Norm::Layer) {
    std::string sum = reduce(0, 0, "addf", columns, [&](const std::string &i) {
      return nest.load(array(0), at(i));
    });
    mean = flushed(e.mul(sum, inverseCount));
  }
  auto centred = [&](const std::string &i) {
    std::string x = nest.load(array(0), at(i));
    return mean.empty() ? x : flushed(e.sub(x, mean));
  };
  std::string squares =
      reduce(1, 0, "addf", columns, [&](const std::string &i) {
        std::string d = centred(i);
        return flushed(e.mul(d, d));
      });
  std::string variance = e.fma(squares, inverseCount, e.constant(task.epsilon));
  std::string root = flushed(e.emit(Op::Sqrt, {variance}, 0, 0));
  std::string i = nest.open("i", columns);
  std::string y = flushed(e.emit(Op::Div, {centred(i), root}, 0, 0));
  if (int gamma = task.indexOf(Role::Weight); gamma >= 0)
    y = flushed(e.mul(y, nest.load(array(gamma), i)));
  if (int beta = task.indexOf(Role::Bias); beta >= 0)
    y = flushed(e.add(y, nest.load(array(beta), i)));
  nest.store(y, array(output()), at(i));
  nest.close();
  return done(type.elementCount() / columns);
}

Payload PlainRows::attend() {
  auto [heads, keyHeads, scale] = task.attention;
  const std::vector<int64_t> &out = task.output().type.dims;
  const BufferType &keyType = task.operands[1].type;
  int64_t rows = out[1], keys = keyType.dims[keyType.dims.size() - 2];
  int64_t depth =
      task.operands[0].type.elementCount() / (out[0] * rows * heads);
  payload.workerFloats = keys + 3;
  int64_t dotAt = keys, maximumAt = keys + 1, sumAt = keys + 2;

  std::string batch =
      nest.affine(cat("d0 floordiv ", heads * rows), {"%chunk"});
  std::string head =
      nest.affine(cat("(d0 floordiv ", rows, ") mod ", heads), {"%chunk"});
  std::string row = nest.affine(cat("d0 mod ", rows), {"%chunk"});
  std::string keyHead =
      nest.affine(cat("d0 floordiv ", heads / keyHeads), {head});
  auto element = [&](int operand, const std::string &h, int64_t count,
                     const std::string &position, const std::string &d) {
    HeadStrides s = HeadStrides::of(task.operands[size_t(operand)].type, count);
    return nest.index(
        0, {{batch, s.batch}, {h, s.head}, {position, s.position}, {d, 1}});
  };
  auto product = [&](const std::string &x, const std::string &y) {
    return flushed(e.mul(x, y));
  };

  std::string top = reduce(
      maximumAt, -__builtin_inff(), "maximumf", keys,
      [&](const std::string &t) {
        std::string dot =
            reduce(dotAt, 0, "addf", depth, [&](const std::string &d) {
              return product(
                  nest.load(array(0), element(0, head, heads, row, d)),
                  nest.load(array(1), element(1, keyHead, keyHeads, t, d)));
            });
        std::string score = product(dot, e.constant(scale));
        if (int mask = task.indexOf(Role::Extra); mask >= 0) {
          const BufferType &m = task.operands[size_t(mask)].type;
          std::vector<int64_t> s = m.strides();
          LoopNest::Index terms;
          const std::string *loops[] = {&batch, &head, &row, &t};
          for (size_t i = 0; i < 4; ++i)
            if (m.dims[i] != 1)
              terms.emplace_back(*loops[i], s[i]);
          score = flushed(
              e.add(score, nest.load(array(mask), nest.index(0, terms))));
        }
        nest.store(score, worker(), t);
        return score;
      });
  std::string sum = reduce(sumAt, 0, "addf", keys, [&](const std::string &t) {
    std::string s = e.sub(nest.load(worker(), t), top);
    std::string p = flushed(e.emit(Op::Exp, {s}, 0, 0));
    nest.store(p, worker(), t);
    return p;
  });
  std::string d = nest.open("d", out[2] / heads);
  std::string weighted =
      reduce(dotAt, 0, "addf", keys, [&](const std::string &t) {
        return product(
            nest.load(worker(), t),
            nest.load(array(2), element(2, keyHead, keyHeads, t, d)));
      });
  nest.store(flushed(e.emit(Op::Div, {weighted, sum}, 0, 0)), array(output()),
             element(output(), head, heads, row, d));
  nest.close();
  return done(out[0] * heads * rows);
}

Result<Payload> tlm::plainRowsTemplate(const TemplateInput &input) {
  PlainRows rows(input);
  return input.task.kind == TaskKind::Normalize ? rows.normalize()
                                                : rows.attend();
}
