// Elements at computed places, and writing to them. A scatter is turned round:
// each output element looks for the update that hits it. Where the indices are
// constant a table says which; otherwise it tries them all.

#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ConstantData.h"
#include "import/ops/Expression.h"
#include "import/ops/Rearrange.h"

#include <algorithm>

using namespace tlm;

namespace {

/// Elements times updates that a scatter may look at.
constexpr int64_t kMaxScatterSteps = 50'000'000;

Status checkIndexType(NodeImporter &node, ValueId indices) {
  DType dtype = node.dtype(indices);
  if (dtype != DType::I64 && dtype != DType::I32)
    return makeError("indices of type " + std::string(nameOf(dtype)) +
                     "; i32 and i64 are allowed");
  return success();
}

/// Constant indices must lie inside [-extent, extent).
Status checkIndices(NodeImporter &node, ValueId indices, int64_t extent) {
  TLM_TRY_STATUS(checkIndexType(node, indices));
  const Value &value = node.value(indices);
  if (!value.isConstant())
    return success();
  TLM_TRY(auto numbers, node.listOf(value));
  for (int64_t index : numbers)
    if (index < -extent || index >= extent)
      return makeError("index " + std::to_string(index) + " is outside [" +
                       std::to_string(-extent) + "," +
                       std::to_string(extent - 1) + "]");
  return success();
}

Result<ValueId> gather(NodeImporter &node, ValueId data, ValueId indices,
                       size_t axis) {
  const Dims dims = node.dims(data), at = node.dims(indices);
  Dims result(dims.begin(), dims.begin() + int64_t(axis));
  result.insert(result.end(), at.begin(), at.end());
  result.insert(result.end(), dims.begin() + int64_t(axis) + 1, dims.end());
  Expression e(node, result);
  std::vector<Term> place, where;
  for (size_t i = 0; i < at.size(); ++i)
    where.push_back(e.loop(axis + i));
  for (size_t i = 0; i < axis; ++i)
    place.push_back(e.loop(i));
  Term index = e.load(indices, where).cast(DType::I64);
  place.push_back(wrapIndex(index, dims[axis]));
  for (size_t i = axis + 1; i < dims.size(); ++i)
    place.push_back(e.loop(at.size() + i - 1));
  return e.emit(e.load(data, place));
}

} // namespace

Status tlm::importGather(NodeImporter &node) {
  ValueId data = node.input(0), indices = node.input(1);
  TLM_TRY(int64_t axis,
          node.normaliseAxis(node.intAttribute("axis", 0), node.rank(data)));
  int64_t extent = node.dims(data)[size_t(axis)];
  TLM_TRY_STATUS(checkIndices(node, indices, extent));
  const Value &value = node.value(indices);
  if (value.isConstant() && countOf(value.dims) == 1) { // one slice
    int64_t index = readInts(value)[0];
    Dims dims = node.dims(data);
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, value.dims.begin(), value.dims.end());
    TLM_TRY(ValueId row, emitSlice(node, data, size_t(axis),
                                   index < 0 ? index + extent : index, 1));
    return node.bind(node.reshape(row, dims));
  }
  return node.bind(gather(node, data, indices, size_t(axis)));
}

Status tlm::importGatherElements(NodeImporter &node) {
  ValueId data = node.input(0), indices = node.input(1);
  const Dims dims = node.dims(data), at = node.dims(indices);
  TLM_TRY(int64_t axis,
          node.normaliseAxis(node.intAttribute("axis", 0), node.rank(data)));
  bool fits = at.size() == dims.size();
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = int64_t(i) == axis || at[i] <= dims[i];
  if (!fits)
    return makeError("indices " + dimsText(at) + " do not fit data " +
                     dimsText(dims));
  TLM_TRY_STATUS(checkIndices(node, indices, dims[size_t(axis)]));
  Expression e(node, at);
  std::vector<Term> place = e.allLoops();
  place[size_t(axis)] =
      wrapIndex(e.element(indices).cast(DType::I64), dims[size_t(axis)]);
  return node.bind(e.emit(e.load(data, place)));
}

namespace {

/// What GatherND and ScatterND share: indices [..., depth] into dims
/// [batch, batch + depth) of the data.
struct TupleIndices {
  size_t batch, depth;
  Dims outer; ///< the indices' dims without the last
  Dims inner; ///< the data's dims behind those that are indexed
};

Result<TupleIndices> readTuples(NodeImporter &node, ValueId data,
                                ValueId indices, int64_t batch) {
  const Dims &dims = node.dims(data), &at = node.dims(indices);
  TLM_TRY_STATUS(checkIndexType(node, indices));
  bool fits = !at.empty() && batch >= 0 && batch < int64_t(at.size()) &&
              at.back() >= 1 && batch + at.back() <= int64_t(dims.size());
  for (int64_t i = 0; fits && i < batch; ++i)
    fits = at[size_t(i)] == dims[size_t(i)];
  if (!fits)
    return makeError("indices " + dimsText(at) + " do not fit data " +
                     dimsText(dims) + " with " + std::to_string(batch) +
                     " batch dims");
  TupleIndices result{size_t(batch), size_t(at.back()), at, {}};
  result.outer.pop_back();
  result.inner.assign(dims.begin() + batch + at.back(), dims.end());
  return result;
}

} // namespace

Status tlm::importGatherND(NodeImporter &node) {
  ValueId data = node.input(0), indices = node.input(1);
  const Dims dims = node.dims(data);
  TLM_TRY(TupleIndices tuples,
          readTuples(node, data, indices, node.intAttribute("batch_dims", 0)));
  Dims result = tuples.outer;
  result.insert(result.end(), tuples.inner.begin(), tuples.inner.end());
  Expression e(node, result);
  std::vector<Term> place, where;
  for (size_t i = 0; i < tuples.outer.size(); ++i)
    where.push_back(e.loop(i));
  for (size_t i = 0; i < tuples.batch; ++i)
    place.push_back(e.loop(i));
  where.push_back({});
  for (size_t k = 0; k < tuples.depth; ++k) {
    where.back() = e.integer(int64_t(k));
    place.push_back(wrapIndex(e.load(indices, where).cast(DType::I64),
                              dims[tuples.batch + k]));
  }
  for (size_t i = 0; i < tuples.inner.size(); ++i)
    place.push_back(e.loop(tuples.outer.size() + i));
  return node.bind(e.emit(e.load(data, place)));
}

namespace {

enum class Merge { Replace, Add, Multiply, Least, Most };

Result<Merge> readMerge(NodeImporter &node) {
  std::string name = node.stringAttribute("reduction", "none");
  if (name == "none")
    return Merge::Replace;
  if (name == "add")
    return Merge::Add;
  if (name == "mul")
    return Merge::Multiply;
  if (name == "min")
    return Merge::Least;
  if (name == "max")
    return Merge::Most;
  return makeError("reduction '" + name +
                   "'; none, add, mul, min and max are allowed");
}

/// The old value with all updates that hit, found by trying each. `hit` and
/// `update` depend on the reduction loops; `updateAt` loads the update with a
/// given number.
Term merged(Expression &e, Merge merge, Term old, Term hit, Term step,
            Term update, const std::function<Term(Term)> &updateAt) {
  switch (merge) {
  case Merge::Add:
    return old + e.reduce(select(hit, update, 0), Combine::Sum);
  case Merge::Multiply:
    return old * e.reduce(select(hit, update, 1), Combine::Product);
  case Merge::Least:
    return least(old, e.reduce(select(hit, update, old), Combine::Min));
  case Merge::Most:
    return most(old, e.reduce(select(hit, update, old), Combine::Max));
  case Merge::Replace:
    break;
  }
  Term last = e.reduce(select(hit, step, -1), Combine::Max);
  return select(last < 0, old, updateAt(last));
}

/// For each place the number of the last update that goes there, or -1.
Result<ValueId> lastUpdates(NodeImporter &node, Dims dims,
                            const std::vector<int64_t> &places) {
  int64_t count = countOf(dims);
  if (!node.spend(count, count * int64_t(sizeof(int64_t))))
    return node.unsupported("writing to " + std::to_string(count) + " places");
  std::vector<int64_t> table(size_t(count), -1);
  for (size_t u = 0; u < places.size(); ++u)
    if (places[u] >= 0 && size_t(places[u]) < table.size())
      table[size_t(places[u])] = int64_t(u);
  return node.constant(DType::I64, std::move(dims),
                       makeConstant(std::move(table)));
}

/// A linear number as indices under dims.
std::vector<Term> unflatten(Term number, const Dims &dims) {
  std::vector<Term> indices(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    indices[i] = i == 0 ? number : number % double(dims[i]);
    number = number / double(std::max<int64_t>(dims[i], 1));
  }
  return indices;
}

Status checkCost(NodeImporter &node, const Dims &outputs, int64_t updates) {
  if (double(countOf(outputs)) * double(updates) > double(kMaxScatterSteps))
    return node.unsupported("computed indices with " + std::to_string(updates) +
                            " updates a place of " + dimsText(outputs));
  return success();
}

Result<ValueId> scatterByTable(NodeImporter &node, const Dims &at,
                               size_t axis) {
  ValueId data = node.input(0), indices = node.input(1);
  ValueId updates = node.input(2);
  const Dims dims = node.dims(data);
  TLM_TRY(auto places, node.listOf(node.value(indices)));
  for (size_t u = 0; u < places.size(); ++u) {
    int64_t place = 0, rest = int64_t(u), stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      int64_t index = rest % at[i];
      rest /= at[i];
      if (i == axis)
        index = places[u] < 0 ? places[u] + dims[i] : places[u];
      place += index * stride;
      stride *= dims[i];
    }
    places[u] = place;
  }
  TLM_TRY(ValueId table, lastUpdates(node, dims, places));
  Expression e(node, dims);
  Term number = e.element(table);
  return e.emit(select(number < 0, e.element(data),
                       e.load(updates, unflatten(number, at))));
}

} // namespace

Status tlm::importScatterElements(NodeImporter &node) {
  ValueId data = node.input(0), indices = node.input(1);
  ValueId updates = node.input(2);
  const Dims dims = node.dims(data), at = node.dims(indices);
  TLM_TRY(int64_t axis,
          node.normaliseAxis(node.intAttribute("axis", 0), node.rank(data)));
  bool fits = at.size() == dims.size() && node.dims(updates) == at &&
              node.dtype(updates) == node.dtype(data);
  for (size_t i = 0; fits && i < dims.size(); ++i)
    fits = int64_t(i) == axis || at[i] <= dims[i];
  if (!fits)
    return makeError("indices " + dimsText(at) + " and updates " +
                     dimsText(node.dims(updates)) + " do not fit data " +
                     dimsText(dims));
  size_t along = size_t(axis);
  TLM_TRY_STATUS(checkIndices(node, indices, dims[along]));
  TLM_TRY(Merge merge, readMerge(node));
  if (node.dtype(data) == DType::Bool && merge != Merge::Replace)
    return node.unsupported("a reduction of bool");
  if (countOf(at) == 0)
    return node.bind(data);
  if (node.value(indices).isConstant() && merge == Merge::Replace)
    return node.bind(scatterByTable(node, at, along));

  TLM_TRY_STATUS(checkCost(node, dims, at[along]));
  Expression e(node, dims, {at[along]});
  std::vector<Term> place = e.allLoops();
  Term here = place[along], step = e.reduction(0);
  Term hit = e.integer(1, DType::Bool);
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != along)
      hit = hit & (place[i] < double(at[i]));
  auto updateAt = [&](Term number) {
    place[along] = number;
    return e.load(updates, place);
  };
  Term update = updateAt(step);
  Term index = e.load(indices, place).cast(DType::I64);
  hit = hit & equal(wrapIndex(index, dims[along]), here);
  return node.bind(
      e.emit(merged(e, merge, e.element(data), hit, step, update, updateAt)));
}

namespace {

/// Constant indices: a table over the dims they select from.
Result<ValueId> scatterTuplesByTable(NodeImporter &node,
                                     const TupleIndices &tuples) {
  ValueId data = node.input(0), updates = node.input(2);
  const Dims dims = node.dims(data);
  Dims prefix(dims.begin(), dims.begin() + int64_t(tuples.depth));
  TLM_TRY(auto numbers, node.listOf(node.value(node.input(1))));
  std::vector<int64_t> places(numbers.size() / tuples.depth, 0);
  for (size_t u = 0; u < places.size(); ++u)
    for (size_t k = 0; k < tuples.depth; ++k) {
      int64_t index = numbers[u * tuples.depth + k];
      if (index < -prefix[k] || index >= prefix[k])
        return makeError("index " + std::to_string(index) + " is outside dim " +
                         std::to_string(k) + " of " + dimsText(dims));
      places[u] =
          places[u] * prefix[k] + (index < 0 ? index + prefix[k] : index);
    }
  TLM_TRY(ValueId table, lastUpdates(node, prefix, places));
  Expression e(node, dims);
  std::vector<Term> here = e.allLoops();
  Term number =
      e.load(table, {here.begin(), here.begin() + int64_t(tuples.depth)});
  std::vector<Term> place = unflatten(number, tuples.outer);
  place.insert(place.end(), here.begin() + int64_t(tuples.depth), here.end());
  return e.emit(select(number < 0, e.element(data), e.load(updates, place)));
}

} // namespace

Status tlm::importScatterND(NodeImporter &node) {
  ValueId data = node.input(0), indices = node.input(1);
  ValueId updates = node.input(2);
  const Dims dims = node.dims(data);
  TLM_TRY(TupleIndices tuples, readTuples(node, data, indices, 0));
  Dims expected = tuples.outer;
  expected.insert(expected.end(), tuples.inner.begin(), tuples.inner.end());
  if (node.dims(updates) != expected || node.dtype(updates) != node.dtype(data))
    return makeError("updates " +
                     typeText(node.dtype(updates), node.dims(updates)) + "; " +
                     typeText(node.dtype(data), expected) + " are needed");
  TLM_TRY(Merge merge, readMerge(node));
  if (node.dtype(data) == DType::Bool && merge != Merge::Replace)
    return node.unsupported("a reduction of bool");
  int64_t count = countOf(tuples.outer);
  if (count == 0)
    return node.bind(data);
  if (node.value(indices).isConstant() && merge == Merge::Replace)
    return node.bind(scatterTuplesByTable(node, tuples));

  TLM_TRY_STATUS(checkCost(node, dims, count));
  Expression e(node, dims, {count});
  std::vector<Term> here = e.allLoops();
  Term step = e.reduction(0), hit = e.integer(1, DType::Bool);
  std::vector<Term> where = unflatten(step, tuples.outer);
  where.push_back({});
  for (size_t k = 0; k < tuples.depth; ++k) {
    where.back() = e.integer(int64_t(k));
    Term index = e.load(indices, where).cast(DType::I64);
    hit = hit & equal(wrapIndex(index, dims[k]), here[k]);
  }
  auto updateAt = [&](Term number) {
    std::vector<Term> place = unflatten(number, tuples.outer);
    place.insert(place.end(), here.begin() + int64_t(tuples.depth), here.end());
    return e.load(updates, place);
  };
  return node.bind(e.emit(
      merged(e, merge, e.element(data), hit, step, updateAt(step), updateAt)));
}

/// values = [off, on]
Status tlm::importOneHot(NodeImporter &node) {
  ValueId indices = node.input(0), values = node.input(2);
  Dims dims = node.dims(indices);
  TLM_TRY(double number, node.constantNumber(1));
  if (!(number >= 1 && number <= double(kMaxElements)))
    return makeError("a depth of " + std::to_string(number));
  int64_t depth = int64_t(number);
  TLM_TRY(int64_t axis, node.normaliseAxis(node.intAttribute("axis", -1),
                                           int64_t(dims.size()) + 1));
  if (node.dims(values) != Dims{2} || node.dtype(indices) == DType::Bool)
    return makeError("values " + dimsText(node.dims(values)) + " must be [2]");
  dims.insert(dims.begin() + axis, depth);
  Expression e(node, dims);
  std::vector<Term> where = e.allLoops();
  where.erase(where.begin() + axis);
  Term index = e.load(indices, where).cast(DType::I64);
  Term hit = equal(wrapIndex(index, depth), e.loop(size_t(axis)));
  return node.bind(
      e.emit(e.load(values, {select(hit, e.integer(1), e.integer(0))})));
}

/// Only with a constant condition, which fixes the result's dims.
Status tlm::importCompress(NodeImporter &node) {
  ValueId x = node.input(0);
  if (!node.value(node.input(1)).isConstant())
    return node.unsupported("a condition that is computed from data");
  TLM_TRY(auto condition, node.constantInts(1));
  size_t axis = 0;
  if (node.hasAttribute("axis")) {
    TLM_TRY(int64_t named,
            node.normaliseAxis(node.intAttribute("axis", 0), node.rank(x)));
    axis = size_t(named);
  } else {
    TLM_TRY(x, node.reshape(x, {countOf(node.dims(x))}));
  }
  std::vector<int64_t> kept;
  int64_t extent = node.dims(x)[axis];
  for (size_t i = 0; i < condition.size() && int64_t(i) < extent; ++i)
    if (condition[i])
      kept.push_back(int64_t(i));
  Dims dims{int64_t(kept.size())};
  ValueId indices =
      node.constant(DType::I64, dims, makeConstant(std::move(kept)));
  return node.bind(gather(node, x, indices, axis));
}

/// Only of a constant, which fixes the result's dims.
Status tlm::importNonZero(NodeImporter &node) {
  const Value &x = node.value(node.input(0));
  if (x.isConstant())
    TLM_TRY_STATUS(node.spend(countOf(x.dims)));
  auto numbers = x.isConstant() ? readNumbers(x) : std::nullopt;
  if (!numbers)
    return node.unsupported("the size of its result depends on data");
  std::vector<int64_t> found;
  for (size_t i = 0; i < numbers->size(); ++i)
    if ((*numbers)[i] != 0)
      found.push_back(int64_t(i));
  int64_t count = int64_t(found.size()), rank = int64_t(x.dims.size());
  TLM_TRY_STATUS(node.spend(rank * count, rank * count * 8));
  std::vector<int64_t> result(size_t(rank * count));
  for (int64_t n = 0; n < count; ++n)
    for (int64_t i = rank, rest = found[size_t(n)]; i-- > 0;
         rest /= x.dims[size_t(i)])
      result[size_t(i * count + n)] = rest % x.dims[size_t(i)];
  return node.bind(node.constant(DType::I64, {rank, count},
                                 makeConstant(std::move(result))));
}
