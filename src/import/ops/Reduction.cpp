#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Expression.h"
#include "import/ops/Reducing.h"

#include <algorithm>
#include <string_view>

using namespace tlm;

Result<ValueId> tlm::emitReduce(NodeImporter &node, ValueId x,
                                const std::vector<int64_t> &axes,
                                Combine combine, TermFunction before,
                                TermFunction after) {
  Dims loops = node.dims(x), reductions;
  for (int64_t axis : axes) {
    reductions.push_back(loops[size_t(axis)]);
    loops[size_t(axis)] = 1;
  }
  Expression e(node, loops, reductions);
  std::vector<Term> indices = e.allLoops();
  for (size_t i = 0; i < axes.size(); ++i)
    indices[size_t(axes[i])] = e.reduction(i);
  Term term = e.load(x, indices);
  if (before)
    term = before(term);
  Term result = axes.empty() ? term : e.reduce(term, combine);
  return e.emit(after ? after(result) : result);
}

Result<ValueId> tlm::dropAxes(NodeImporter &node, ValueId x,
                              const std::vector<int64_t> &axes) {
  Dims dims;
  for (size_t i = 0; i < node.dims(x).size(); ++i)
    if (std::ranges::count(axes, int64_t(i)) == 0)
      dims.push_back(node.dims(x)[i]);
  return node.reshape(x, dims);
}

namespace {

int64_t countAlong(NodeImporter &node, ValueId x,
                   const std::vector<int64_t> &axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= node.dims(x)[size_t(axis)];
  return count;
}

Result<ValueId> reduceMean(NodeImporter &node, ValueId x,
                           const std::vector<int64_t> &axes) {
  if (node.dtype(x) == DType::F32)
    return node.emit(Op::ReduceMean, {x}, AxesAttributes{axes});
  double count = double(countAlong(node, x, axes));
  return emitReduce(node, x, axes, Combine::Sum, nullptr,
                    [=](Term sum) { return sum / count; });
}

/// With the largest term taken out of the exponent.
Result<ValueId> reduceLogSumExp(NodeImporter &node, ValueId x,
                                const std::vector<int64_t> &axes) {
  DType dtype = node.dtype(x);
  if (!isFloat(dtype))
    return node.unsupported("type " + std::string(nameOf(dtype)));
  TLM_TRY(ValueId largest,
          emitReduce(node, x, axes, Combine::Max, nullptr, [](Term most) {
            // An infinite one must not be taken from itself.
            return select(equal(most - most, 0), most, 0);
          }));
  auto shifted = [&](Term term) {
    return exp(term - term.in->broadcast(largest));
  };
  auto finish = [&](Term sum) { return log(sum) + sum.in->broadcast(largest); };
  return emitReduce(node, x, axes, Combine::Sum, shifted, finish);
}

Result<ValueId> reduce(NodeImporter &node, ValueId x,
                       const std::vector<int64_t> &axes) {
  std::string_view op = std::string_view(node.opType()).substr(6);
  DType dtype = node.dtype(x);
  bool logical = dtype == DType::Bool;
  if (op == "Max" || op == "Min")
    return emitReduce(node, x, axes, op == "Max" ? Combine::Max : Combine::Min);
  if (logical)
    return node.unsupported("type bool");
  if (op == "Mean")
    return reduceMean(node, x, axes);
  if (op == "LogSumExp")
    return reduceLogSumExp(node, x, axes);
  if (op == "Prod")
    return emitReduce(node, x, axes, Combine::Product);
  if (op == "L1")
    return emitReduce(node, x, axes, Combine::Sum,
                      [](Term term) { return abs(term); });
  if (op == "SumSquare")
    return emitReduce(node, x, axes, Combine::Sum,
                      [](Term term) { return term * term; });
  if (op == "L2")
    return emitReduce(
        node, x, axes, Combine::Sum, [](Term term) { return term * term; },
        [=](Term sum) {
          return isFloat(dtype) ? sqrt(sum)
                                : sqrt(sum.cast(DType::F64)).cast(dtype);
        });
  if (op == "LogSum") {
    if (!isFloat(dtype))
      return node.unsupported("type " + std::string(nameOf(dtype)));
    return emitReduce(node, x, axes, Combine::Sum, nullptr,
                      [](Term sum) { return log(sum); });
  }
  return emitReduce(node, x, axes, Combine::Sum);
}

} // namespace

/// Axes: an attribute first, an input from opset 18 on (ReduceSum: 13). None:
/// all of them, unless noop_with_empty_axes.
Status tlm::importReduce(NodeImporter &node) {
  ValueId x = node.input(0);
  int64_t rank = node.rank(x);
  std::vector<int64_t> axes = node.intsAttribute("axes", {});
  if (node.hasInput(1)) {
    TLM_TRY(axes, node.constantInts(1));
  }
  bool noop = node.intAttribute("noop_with_empty_axes", 0) != 0;
  if (axes.empty() && !noop)
    for (int64_t axis = 0; axis < rank; ++axis)
      axes.push_back(axis);
  TLM_TRY(axes, node.normaliseAxes(std::move(axes), rank));
  if (axes.empty() && node.opType() == "ReduceMean")
    return node.bind(x);
  TLM_TRY(ValueId result, reduce(node, x, axes));
  if (node.intAttribute("keepdims", 1) == 0) {
    TLM_TRY(result, dropAxes(node, result, axes));
  }
  return node.bind(result);
}

Status tlm::importArgExtreme(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(int64_t axis,
          node.normaliseAxis(node.intAttribute("axis", 0), node.rank(x)));
  if (node.dims(x)[size_t(axis)] == 0)
    return makeError("dim " + std::to_string(axis) + " of " +
                     dimsText(node.dims(x)) + " has no elements");
  bool last = node.intAttribute("select_last_index", 0) != 0;
  Combine combine = node.opType() == "ArgMax"
                        ? (last ? Combine::ArgMaxLast : Combine::ArgMaxFirst)
                        : (last ? Combine::ArgMinLast : Combine::ArgMinFirst);
  TLM_TRY(ValueId result, emitReduce(node, x, {axis}, combine));
  if (node.intAttribute("keepdims", 1) == 0) {
    TLM_TRY(result, dropAxes(node, result, {axis}));
  }
  return node.bind(result);
}

namespace {

/// The largest element along an axis and the sum of exp(x - largest).
struct Exponentials {
  ValueId largest, sum;
};

Result<Exponentials> exponentials(NodeImporter &node, ValueId x, int64_t axis) {
  Exponentials made{};
  TLM_TRY(made.largest, emitReduce(node, x, {axis}, Combine::Max));
  TLM_TRY(made.sum, emitReduce(node, x, {axis}, Combine::Sum, [&](Term term) {
            return exp(term - term.in->broadcast(made.largest));
          }));
  return made;
}

} // namespace

Result<ValueId> tlm::emitLogSoftmax(NodeImporter &node, ValueId x,
                                    int64_t axis) {
  TLM_TRY(Exponentials made, exponentials(node, x, axis));
  Expression e(node, node.dims(x));
  Term above = e.element(x) - e.broadcast(made.largest);
  return e.emit(above - log(e.broadcast(made.sum)));
}

namespace {

/// Softmax and its kin of x along one axis, by expressions.
Result<ValueId> softmaxKin(NodeImporter &node, ValueId x, int64_t axis) {
  if (!isFloat(node.dtype(x)))
    return node.unsupported("type " + std::string(nameOf(node.dtype(x))));
  const Dims dims = node.dims(x);
  if (node.opType() == "Hardmax") {
    if (dims[size_t(axis)] == 0)
      return x;
    TLM_TRY(ValueId best, emitReduce(node, x, {axis}, Combine::ArgMaxFirst));
    Expression e(node, dims);
    Term hit = equal(e.broadcast(best), e.loop(size_t(axis)));
    return e.emit(hit.cast(node.dtype(x)));
  }
  if (node.opType() == "LogSoftmax")
    return emitLogSoftmax(node, x, axis);
  TLM_TRY(Exponentials made, exponentials(node, x, axis));
  Expression e(node, dims);
  Term above = e.element(x) - e.broadcast(made.largest);
  return e.emit(exp(above) / e.broadcast(made.sum));
}

} // namespace

/// Up to opset 12 the operand is flattened to two dims at the axis; from 13 on
/// softmax runs along the axis alone. Where the dims behind the axis are all 1
/// the two agree; either way the softmax is along a last dim if it can be.
Status tlm::importSoftmax(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  int64_t rank = node.rank(x);
  bool flattens = node.opset() < 13;
  int64_t axis = node.intAttribute("axis", flattens ? 1 : -1);
  if (flattens && axis == rank) { // everything lies before the axis
    TLM_TRY(ValueId column, node.reshape(x, {countOf(dims), 1}));
    TLM_TRY(ValueId result, softmaxKin(node, column, 1));
    return node.bind(node.reshape(result, dims));
  }
  TLM_TRY(axis, node.normaliseAxis(axis, rank));
  bool plain = node.opType() == "Softmax" && node.dtype(x) == DType::F32;
  auto along = [&](ValueId operand, int64_t at) -> Result<ValueId> {
    if (plain)
      return node.emit(Op::Softmax, {operand}, AxesAttributes{{at}});
    return softmaxKin(node, operand, at);
  };
  Dims lead(dims.begin(), dims.begin() + axis);
  Dims behind(dims.begin() + axis, dims.end());
  Dims innermost(behind.begin() + 1, behind.end());
  if (axis == rank - 1 || (!flattens && countOf(innermost) != 1))
    return node.bind(along(x, axis));
  TLM_TRY(ValueId flat, node.reshape(x, {countOf(lead), countOf(behind)}));
  TLM_TRY(ValueId result, along(flat, 1));
  return node.bind(node.reshape(result, dims));
}

namespace {

/// Extents up to this are summed in one go.
constexpr int64_t kShortScan = 64;

/// The combination of the elements up to each, by doubling distances.
Result<ValueId> scan(NodeImporter &node, ValueId x, size_t axis, bool reverse,
                     bool product) {
  int64_t extent = node.dims(x)[axis];
  for (int64_t step = 1; step < extent; step *= 2) {
    Expression e(node, node.dims(x));
    std::vector<Term> at = e.allLoops();
    at[axis] = at[axis] + double(reverse ? step : -step);
    Term own = e.element(x), other = e.load(x, at);
    Term joined = product ? own * other : own + other;
    TLM_TRY(x, e.emit(select(inside(at[axis], extent), joined, own)));
  }
  return x;
}

/// The same as one reduction each.
Result<ValueId> shortScan(NodeImporter &node, ValueId x, size_t axis,
                          bool reverse, bool product) {
  const Dims dims = node.dims(x);
  Expression e(node, dims, {dims[axis]});
  std::vector<Term> at = e.allLoops();
  Term here = at[axis], step = e.reduction(0);
  at[axis] = step;
  Term counts = reverse ? here <= step : step <= here;
  return e.emit(e.reduce(select(counts, e.load(x, at), product ? 1 : 0),
                         product ? Combine::Product : Combine::Sum));
}

} // namespace

Status tlm::importCumulative(NodeImporter &node) {
  ValueId x = node.input(0);
  bool product = node.opType() == "CumProd";
  if (node.dtype(x) == DType::Bool)
    return node.unsupported("type bool");
  TLM_TRY(double named, node.constantNumber(1));
  if (!(named > -100 && named < 100))
    return makeError("an axis of " + std::to_string(named));
  TLM_TRY(int64_t axis, node.normaliseAxis(int64_t(named), node.rank(x)));
  bool reverse = node.intAttribute("reverse", 0) != 0;
  size_t along = size_t(axis);
  if (node.intAttribute("exclusive", 0) != 0) { // the neighbour's result
    Expression e(node, node.dims(x));
    std::vector<Term> at = e.allLoops();
    at[along] = at[along] + (reverse ? 1.0 : -1.0);
    Term within = inside(at[along], node.dims(x)[along]);
    TLM_TRY(x, e.emit(select(within, e.load(x, at), product ? 1 : 0)));
  }
  return node.bind(node.dims(x)[along] <= kShortScan
                       ? shortScan(node, x, along, reverse, product)
                       : scan(node, x, along, reverse, product));
}

namespace {

/// Elements of one line squared, times lines, that TopK may compare.
constexpr int64_t kMaxComparisons = 50'000'000;

} // namespace

/// The rank of each element among its line, then the elements by rank.
Status tlm::importTopK(NodeImporter &node) {
  ValueId x = node.input(0);
  const Dims dims = node.dims(x);
  TLM_TRY(int64_t named,
          node.normaliseAxis(node.intAttribute("axis", -1), node.rank(x)));
  size_t axis = size_t(named);
  int64_t k = node.intAttribute("k", -1);
  if (node.opset() >= 10) {
    if (!node.hasInput(1))
      return makeError("k is missing");
    TLM_TRY(double number, node.constantNumber(1));
    k = number >= 0 && number <= double(dims[axis]) ? int64_t(number) : -1;
  }
  if (k < 0 || k > dims[axis])
    return makeError("k is outside [0," + std::to_string(dims[axis]) + "]");
  if (double(countOf(dims)) * double(dims[axis]) > double(kMaxComparisons))
    return node.unsupported("lines of " + std::to_string(dims[axis]) +
                            " elements in " + dimsText(dims));
  bool largest = node.intAttribute("largest", 1) != 0;

  Expression ranking(node, dims, {dims[axis]});
  std::vector<Term> at = ranking.allLoops();
  Term here = at[axis], other = ranking.reduction(0);
  Term own = ranking.element(x);
  at[axis] = other;
  Term rival = ranking.load(x, at);
  Term ahead = (largest ? own < rival : rival < own) |
               (equal(own, rival) & (other < here));
  TLM_TRY(ValueId rank,
          ranking.emit(ranking.reduce(ahead.cast(DType::I64), Combine::Sum)));
  Dims kept = dims;
  kept[axis] = k;
  Expression choosing(node, kept, {dims[axis]});
  at = choosing.allLoops();
  Term wanted = at[axis];
  at[axis] = choosing.reduction(0);
  Term hit = equal(choosing.load(rank, at), wanted);
  TLM_TRY(ValueId indices, choosing.emit(choosing.reduce(
                               select(hit, at[axis], 0), Combine::Max)));
  Expression taking(node, kept);
  at = taking.allLoops();
  at[axis] = taking.element(indices);
  TLM_TRY(ValueId values, taking.emit(taking.load(x, at)));
  TLM_TRY_STATUS(node.bind(values, 0));
  return node.bind(indices, 1);
}
