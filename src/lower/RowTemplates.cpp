//===- RowTemplates.cpp - softmax and normalisation -----------------------===//
//
// Rows of whole vectors that stay in L1: a few passes over a row, each a loop
// of vectors with vector accumulators and one horizontal step at its end.
// Several independent accumulators hide the latency of the additions.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Text.h"

#include <functional>

using namespace tlm;

namespace {

/// One row: loops over its vectors, `unroll` at a time.
class RowLoops {
public:
  RowLoops(LoopNest &nest, int64_t lanes, int64_t columns, int64_t unroll)
      : nest(nest), lanes(lanes), columns(columns), unroll(unroll),
        type(cat("vector<", lanes, "xf32>")) {}

  using Step = std::function<std::string(const std::string &column,
                                         const std::string &accumulator)>;

  /// Accumulates over the row and combines to a scalar with `kind`.
  std::string reduce(float start, const char *kind, const char *flags,
                     const Step &step) {
    std::string low = nest.index(0, {}), high = nest.index(columns, {}),
                by = nest.index(unroll * lanes, {});
    std::string c = nest.fresh("c"), result = nest.fresh("acc");
    std::string zero = nest.constant(start, lanes);
    std::vector<std::string> carried, names, types, next;
    for (int64_t u = 0; u < unroll; ++u) {
      names.push_back(nest.fresh("a"));
      carried.push_back(cat(names.back(), " = ", zero));
      types.push_back(type);
    }
    nest.raw(cat("  ", result, ":", unroll, " = scf.for ", c, " = ", low,
                 " to ", high, " step ", by, " iter_args(", join(carried, ", "),
                 ") -> (", join(types, ", "), ") {\n"));
    for (int64_t u = 0; u < unroll; ++u)
      next.push_back(step(nest.index(u * lanes, {{c, 1}}), names[size_t(u)]));
    nest.raw(cat("    scf.yield ", join(next, ", "), " : ", join(types, ", "),
                 "\n  }\n"));
    std::string sum = cat(result, "#0");
    for (int64_t u = 1; u < unroll; ++u) {
      std::string s = nest.fresh();
      nest.raw(cat("    ", s, " = arith.",
                   std::string(kind) == "add" ? "addf " : "maximumf ", sum,
                   ", ", result, "#", u, flags, " : ", type, "\n"));
      sum = s;
    }
    std::string scalar = nest.fresh();
    nest.raw(cat("    ", scalar, " = vector.reduction <", kind, ">, ", sum,
                 flags, " : ", type, " into f32\n"));
    return scalar;
  }

  void forEach(const std::function<void(const std::string &column)> &step) {
    std::string c = nest.open("c", 0, columns, lanes);
    step(c);
    nest.close();
  }

  std::string broadcast(const std::string &scalar) {
    std::string wide = nest.fresh();
    nest.raw(cat("    ", wide, " = vector.broadcast ", scalar, " : f32 to ",
                 type, "\n"));
    return wide;
  }

private:
  LoopNest &nest;
  int64_t lanes, columns, unroll;
  std::string type;
};

struct Rows {
  int64_t rows = 0, columns = 0, perChunk = 0, unroll = 1;
};

} // namespace

static Result<Rows> rowsOf(const TemplateInput &input) {
  const BufferType &type = input.task.find(Role::Input)->type;
  int64_t lanes = input.target.vectorFloats();
  Rows rows;
  rows.columns = type.dims.empty() ? 0 : type.dims.back();
  if (!rows.columns || rows.columns % lanes ||
      input.task.output().type.dims != type.dims)
    return makeError("rows: the last dim is no multiple of a vector");
  rows.rows = type.elementCount() / rows.columns;
  rows.perChunk = input.schedule.get(Decision::ParallelTile, "rows", rows.rows);
  if (rows.rows % rows.perChunk)
    return makeError("parallel_tile does not divide its loop");
  rows.unroll = input.schedule.get(Decision::Accumulators, "", 1);
  if (rows.columns % (rows.unroll * lanes))
    return makeError("accumulators do not divide the vectors of a row");
  return rows;
}

static Payload rowPayload(const TemplateInput &input, const Rows &rows,
                          const LoopNest &nest, const PointEmitter &emitter) {
  Payload payload;
  payload.packings.resize(input.task.operands.size());
  payload.maxParallelism = input.schedule.get(Decision::MaxParallelism, "", 1);
  Stage stage;
  stage.name = "s0";
  stage.chunks = rows.rows / rows.perChunk;
  stage.body = emitter.constants() + nest.text();
  payload.stages.push_back(std::move(stage));
  return payload;
}

Result<Payload> tlm::normalizeTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  TLM_TRY(Rows rows, rowsOf(input));
  int64_t lanes = input.target.vectorFloats();
  LoopNest nest;
  PointEmitter e(lanes, "e"), scalar(0, "s");
  auto flush = [&](PointEmitter &emitter) {
    nest.raw(emitter.body());
    emitter.clearBody();
  };
  auto array = [&](int i) {
    return LoopNest::Array{argumentName(i),
                           task.operands[size_t(i)].type.elementCount()};
  };
  int output = int(task.operands.size()) - 1;
  int gamma = task.indexOf(Role::Weight), beta = task.indexOf(Role::Bias);
  std::string r = nest.open("r", rows.perChunk);
  std::string row = nest.index(
      0, {{"%chunk", rows.perChunk * rows.columns}, {r, rows.columns}});
  RowLoops loops(nest, lanes, rows.columns, rows.unroll);
  auto x = [&](const std::string &c) {
    return nest.load(array(0), nest.index(0, {{row, 1}, {c, 1}}), lanes);
  };
  // Two passes for the variance: the one-pass form cancels.
  const char *tree = " fastmath<reassoc>";
  std::string wideMean;
  float inverseCount = 1.0f / float(rows.columns);
  if (task.norm == Norm::Layer) {
    std::string sum = loops.reduce(
        0, "add", tree, [&](const std::string &c, const std::string &acc) {
          std::string next = e.add(acc, x(c));
          flush(e);
          return next;
        });
    std::string mean = scalar.mul(sum, scalar.constant(inverseCount));
    flush(scalar);
    wideMean = loops.broadcast(mean);
  }
  std::string squares = loops.reduce(
      0, "add", tree, [&](const std::string &c, const std::string &acc) {
        std::string d = x(c);
        if (!wideMean.empty())
          d = e.sub(d, wideMean);
        std::string next = e.fma(d, d, acc);
        flush(e);
        return next;
      });
  std::string variance = scalar.fma(squares, scalar.constant(inverseCount),
                                    scalar.constant(task.epsilon));
  std::string root = scalar.emit(Op::Sqrt, {variance}, 0, 0);
  std::string inverse =
      scalar.emit(Op::Div, {scalar.constant(1.0f), root}, 0, 0);
  flush(scalar);
  std::string wideInverse = loops.broadcast(inverse);
  loops.forEach([&](const std::string &c) {
    std::string d = x(c);
    if (!wideMean.empty())
      d = e.sub(d, wideMean);
    d = e.mul(d, wideInverse);
    std::string g, b;
    if (gamma >= 0)
      g = nest.load(array(gamma), c, lanes);
    if (beta >= 0)
      b = nest.load(array(beta), c, lanes);
    if (gamma >= 0)
      d = e.mul(d, g);
    if (beta >= 0)
      d = e.add(d, b);
    flush(e);
    nest.store(d, array(output), nest.index(0, {{row, 1}, {c, 1}}), lanes);
  });
  nest.close();
  nest.prepend(scalar.constants());
  return rowPayload(input, rows, nest, e);
}

Result<Payload> tlm::softmaxTemplate(const TemplateInput &input) {
  const Task &task = input.task;
  TLM_TRY(Rows rows, rowsOf(input));
  int64_t lanes = input.target.vectorFloats();
  LoopNest nest;
  PointEmitter e(lanes, "e");
  auto flush = [&] {
    nest.raw(e.body());
    e.clearBody();
  };
  LoopNest::Array source{"%a0", task.operands[0].type.elementCount()};
  LoopNest::Array target{"%a1", task.output().type.elementCount()};
  std::string r = nest.open("r", rows.perChunk);
  std::string row = nest.index(
      0, {{"%chunk", rows.perChunk * rows.columns}, {r, rows.columns}});
  RowLoops loops(nest, lanes, rows.columns, rows.unroll);
  auto at = [&](const std::string &c) {
    return nest.index(0, {{row, 1}, {c, 1}});
  };
  std::string top =
      loops.reduce(-__builtin_inff(), "maximumf", " fastmath<nsz>",
                   [&](const std::string &c, const std::string &acc) {
                     std::string next = e.emit(
                         Op::Max, {acc, nest.load(source, at(c), lanes)}, 0, 0);
                     flush();
                     return next;
                   });
  std::string wideTop = loops.broadcast(top);
  std::string sum =
      loops.reduce(0, "add", " fastmath<reassoc>",
                   [&](const std::string &c, const std::string &acc) {
                     std::string x = nest.load(source, at(c), lanes);
                     std::string p = e.emit(Op::Exp, {e.sub(x, wideTop)}, 0, 0);
                     std::string next = e.add(acc, p);
                     flush();
                     nest.store(p, target, at(c), lanes);
                     return next;
                   });
  std::string one = nest.constant(1.0f), inverse = nest.fresh();
  nest.raw(cat("    ", inverse, " = arith.divf ", one, ", ", sum, " : f32\n"));
  std::string wideInverse = loops.broadcast(inverse);
  loops.forEach([&](const std::string &c) {
    std::string y = e.mul(nest.load(target, at(c), lanes), wideInverse);
    flush();
    nest.store(y, target, at(c), lanes);
  });
  nest.close();
  return rowPayload(input, rows, nest, e);
}
