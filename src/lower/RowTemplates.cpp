//===- RowTemplates.cpp - softmax and normalisation -----------------------===//
//
// Rows that stay in L1: a few passes over a row, each a loop of vectors with
// vector accumulators and one horizontal step at its end. Several independent
// accumulators hide the latency of the additions. What is left behind the whole
// vectors is one more, of which only the columns are read and written.
//
//===----------------------------------------------------------------------===//

#include "lower/LoopNest.h"
#include "lower/Payload.h"
#include "lower/Text.h"

#include <algorithm>
#include <functional>

using namespace tlm;

namespace {

struct Rows {
  int64_t rows = 0, columns = 0, perChunk = 0, sums = 1;
};

/// One row: loops over its vectors, `sums` at a time where it accumulates, then
/// what is left.
class RowLoops {
public:
  RowLoops(LoopNest &nest, int64_t lanes, const Rows &rows, std::string row)
      : nest(nest), lanes(lanes), columns(rows.columns), sums(rows.sums),
        row(std::move(row)), type(cat("vector<", lanes, "xf32>")) {}

  /// A vector of the row, of which `count` lanes are columns.
  struct Part {
    std::string column;
    int64_t count;
  };
  /// What `array` holds at the columns of the row; `otherwise` behind them.
  std::string load(const LoopNest::Array &array, const Part &part,
                   const std::string &otherwise) {
    return nest.loadFirst(array, at(part), lanes, part.count, otherwise);
  }
  void store(const std::string &value, const LoopNest::Array &array,
             const Part &part) {
    nest.storeFirst(value, array, at(part), lanes, part.count);
  }
  /// The same of an array that all rows share.
  std::string loadShared(const LoopNest::Array &array, const Part &part,
                         const std::string &otherwise) {
    return nest.loadFirst(array, part.column, lanes, part.count, otherwise);
  }

  using Step = std::function<std::string(const Part &part,
                                         const std::string &accumulator)>;

  /// Accumulates over the row and combines to a scalar with `kind`.
  std::string reduce(float start, const char *kind, const char *flags,
                     const Step &step) {
    std::vector<std::string> parts(size_t(sums), nest.constant(start, lanes));
    int64_t vectors = columns / lanes, looped = vectors / sums * sums;
    if (looped)
      parts = reduceLoop(looped, parts, step);
    for (int64_t v = looped; v * lanes < columns; ++v) {
      std::string &sum = parts[size_t(v - looped)];
      sum = step(partAt(v), sum);
    }
    std::string sum = parts[0];
    for (int64_t u = 1; u < sums; ++u) {
      std::string s = nest.fresh();
      nest.raw(cat("    ", s, " = arith.",
                   std::string(kind) == "add" ? "addf " : "maximumf ", sum,
                   ", ", parts[size_t(u)], flags, " : ", type, "\n"));
      sum = s;
    }
    std::string scalar = nest.fresh();
    nest.raw(cat("    ", scalar, " = vector.reduction <", kind, ">, ", sum,
                 flags, " : ", type, " into f32\n"));
    return scalar;
  }

  void forEach(const std::function<void(const Part &part)> &step) {
    int64_t whole = columns / lanes * lanes;
    if (whole) {
      step({nest.open("c", 0, whole, lanes), lanes});
      nest.close();
    }
    if (whole < columns)
      step(partAt(whole / lanes));
  }

  std::string broadcast(const std::string &scalar) {
    std::string wide = nest.fresh();
    nest.raw(cat("    ", wide, " = vector.broadcast ", scalar, " : f32 to ",
                 type, "\n"));
    return wide;
  }

private:
  std::string at(const Part &part) {
    return nest.index(0, {{row, 1}, {part.column, 1}});
  }
  Part partAt(int64_t vector) {
    return {nest.index(vector * lanes, {}),
            std::min(lanes, columns - vector * lanes)};
  }

  std::vector<std::string> reduceLoop(int64_t vectors,
                                      const std::vector<std::string> &start,
                                      const Step &step) {
    std::string low = nest.index(0, {}), high = nest.index(vectors * lanes, {}),
                by = nest.index(sums * lanes, {});
    std::string c = nest.fresh("c"), result = nest.fresh("acc");
    std::vector<std::string> carried, names, types, next, results;
    for (int64_t u = 0; u < sums; ++u) {
      names.push_back(nest.fresh("a"));
      carried.push_back(cat(names.back(), " = ", start[size_t(u)]));
      types.push_back(type);
      results.push_back(cat(result, "#", u));
    }
    nest.raw(cat("  ", result, ":", sums, " = scf.for ", c, " = ", low, " to ",
                 high, " step ", by, " iter_args(", join(carried, ", "),
                 ") -> (", join(types, ", "), ") {\n"));
    for (int64_t u = 0; u < sums; ++u)
      next.push_back(
          step({nest.index(u * lanes, {{c, 1}}), lanes}, names[size_t(u)]));
    nest.raw(cat("    scf.yield ", join(next, ", "), " : ", join(types, ", "),
                 "\n  }\n"));
    return results;
  }

  LoopNest &nest;
  int64_t lanes, columns, sums;
  std::string row; ///< index of its first column
  std::string type;
};

} // namespace

static Result<Rows> rowsOf(const TemplateInput &input) {
  const BufferType &type = input.task.find(Role::Input)->type;
  Rows rows;
  rows.columns = type.dims.empty() ? 0 : type.dims.back();
  if (!rows.columns || input.task.output().type.dims != type.dims)
    return makeError("rows: the output has other dims");
  rows.rows = type.elementCount() / rows.columns;
  rows.perChunk = input.schedule.get(Decision::ParallelTile, "rows", rows.rows);
  if (rows.rows % rows.perChunk)
    return makeError("parallel_tile does not divide its loop");
  rows.sums = input.schedule.get(Decision::Accumulators, "", 1);
  int64_t vectors = rows.columns / input.target.vectorFloats();
  if (rows.sums > std::max<int64_t>(1, vectors))
    return makeError("more accumulators than vectors of a row");
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
  RowLoops loops(nest, lanes, rows, row);
  std::string zero = nest.constant(0, lanes);
  // Two passes for the variance: the one-pass form cancels.
  const char *tree = " fastmath<reassoc>";
  std::string wideMean;
  float inverseCount = 1.0f / float(rows.columns);
  if (task.norm == Norm::Layer) {
    std::string sum =
        loops.reduce(0, "add", tree,
                     [&](const RowLoops::Part &part, const std::string &acc) {
                       std::string next =
                           e.add(acc, loops.load(array(0), part, zero));
                       flush(e);
                       return next;
                     });
    std::string mean = scalar.mul(sum, scalar.constant(inverseCount));
    flush(scalar);
    wideMean = loops.broadcast(mean);
  }
  // Behind the row the mean, whose difference from itself is zero.
  const std::string &neutral = wideMean.empty() ? zero : wideMean;
  std::string squares = loops.reduce(
      0, "add", tree, [&](const RowLoops::Part &part, const std::string &acc) {
        std::string d = loops.load(array(0), part, neutral);
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
  loops.forEach([&](const RowLoops::Part &part) {
    std::string d = loops.load(array(0), part, neutral);
    if (!wideMean.empty())
      d = e.sub(d, wideMean);
    d = e.mul(d, wideInverse);
    std::string g, b;
    if (gamma >= 0)
      g = loops.loadShared(array(gamma), part, zero);
    if (beta >= 0)
      b = loops.loadShared(array(beta), part, zero);
    if (gamma >= 0)
      d = e.mul(d, g);
    if (beta >= 0)
      d = e.add(d, b);
    flush(e);
    loops.store(d, array(output), part);
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
  RowLoops loops(nest, lanes, rows, row);
  // Behind the row the least value: its exponential is zero.
  float least = -__builtin_inff();
  std::string lowest = nest.constant(least, lanes);
  std::string top = loops.reduce(
      least, "maximumf", " fastmath<nsz>",
      [&](const RowLoops::Part &part, const std::string &acc) {
        std::string next =
            e.emit(Op::Max, {acc, loops.load(source, part, lowest)}, 0, 0);
        flush();
        return next;
      });
  std::string wideTop = loops.broadcast(top);
  std::string sum =
      loops.reduce(0, "add", " fastmath<reassoc>",
                   [&](const RowLoops::Part &part, const std::string &acc) {
                     std::string x = loops.load(source, part, lowest);
                     std::string p = e.emit(Op::Exp, {e.sub(x, wideTop)}, 0, 0);
                     std::string next = e.add(acc, p);
                     flush();
                     loops.store(p, target, part);
                     return next;
                   });
  std::string one = nest.constant(1.0f), inverse = nest.fresh();
  nest.raw(cat("    ", inverse, " = arith.divf ", one, ", ", sum, " : f32\n"));
  std::string wideInverse = loops.broadcast(inverse);
  loops.forEach([&](const RowLoops::Part &part) {
    std::string y = e.mul(loops.load(target, part, lowest), wideInverse);
    flush();
    loops.store(y, target, part);
  });
  nest.close();
  return rowPayload(input, rows, nest, e);
}
