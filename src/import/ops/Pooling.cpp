// Two spatial dims of f32 are operators of ours; one is made two; everything
// else is an expression that reduces over the window.

#include "import/ops/Families.h"

#include "base/IntegerArithmetic.h"
#include "graph/ShapeRule.h"
#include "import/ops/Reducing.h"
#include "import/ops/WindowAttributes.h"
#include "import/ops/WindowLoops.h"

#include <cmath>
#include <limits>

using namespace tlm;

namespace {

Result<PoolAttributes> readPool(NodeImporter &node) {
  const Dims &x = node.dims(node.input(0));
  PoolAttributes attributes;
  auto kernel = node.intsAttribute("kernel_shape", {});
  if (kernel.empty())
    return makeError("kernel_shape is missing");
  TLM_TRY(attributes.windows, readWindows(node, x, kernel));
  attributes.ceilPad.assign(kernel.size(), 0);
  // SAME_* fixes the output's extent; ceil mode adds nothing to it.
  std::string mode = node.stringAttribute("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (node.intAttribute("ceil_mode", 0) != 0 && !same)
    for (size_t i = 0; i < kernel.size(); ++i)
      attributes.ceilPad[i] = padForCeil(attributes.windows[i], x[i + 2]);
  for (size_t i = 0; i < kernel.size(); ++i)
    if (attributes.windows[i].outputExtent(x[i + 2]) < 1 && x[i + 2] > 0)
      return makeError("the window does not fit dim " + std::to_string(i + 2) +
                       " of " + dimsText(x));
  return attributes;
}

/// [N,C,L] as [N,C,1,L] and back.
Result<ValueId> poolPlainly(NodeImporter &node, Op op, ValueId x,
                            PoolAttributes attributes) {
  if (attributes.windows.size() == 2)
    return node.emit(op, {x}, attributes);
  const Dims dims = node.dims(x);
  attributes.windows.insert(attributes.windows.begin(), Window{});
  attributes.ceilPad.insert(attributes.ceilPad.begin(), 0);
  TLM_TRY(ValueId wide, node.reshape(x, {dims[0], dims[1], 1, dims[2]}));
  TLM_TRY(ValueId pooled, node.emit(op, {wide}, attributes));
  const Dims result = node.dims(pooled);
  return node.reshape(pooled, {result[0], result[1], result[3]});
}

bool isPlain(NodeImporter &node, const PoolAttributes &attributes) {
  return node.dtype(node.input(0)) == DType::F32 &&
         attributes.windows.size() <= 2;
}

Term lowest(Expression &e, DType dtype) {
  return isFloat(dtype)
             ? e.number(-std::numeric_limits<double>::infinity(), dtype)
             : e.integer(lowestInteger(dtype), dtype);
}

/// The number of the window's element with the largest value, as ONNX numbers
/// elements: over the whole input, row- or column-major in its spatial dims.
Result<ValueId> maxIndices(NodeImporter &node, ValueId x,
                           const std::vector<Window> &windows,
                           bool columnMajor) {
  const Dims dims = node.dims(x);
  WindowLoops find(node, dims, windows);
  Term value =
      select(find.isInside(), find.load(x), lowest(find.e, node.dtype(x)));
  Term best = find.e.reduce(value, Combine::ArgMaxFirst);
  size_t spatial = windows.size();
  std::vector<Term> at(spatial);
  for (size_t i = spatial; i-- > 0;) {
    Term within = best % double(windows[i].kernel);
    best = best / double(windows[i].kernel);
    at[i] = find.e.loop(i + 2) * double(windows[i].stride) +
            within * double(windows[i].dilation) - double(windows[i].padBegin);
  }
  Term number = find.e.loop(0) * double(dims[1]) + find.e.loop(1);
  Term within = find.e.integer(0);
  for (size_t i = 0; i < spatial; ++i) {
    size_t axis = columnMajor ? spatial - 1 - i : i;
    within = within * double(dims[axis + 2]) + at[axis];
  }
  double area = 1;
  for (size_t i = 0; i < spatial; ++i)
    area *= double(dims[i + 2]);
  return find.e.emit(number * area + within);
}

} // namespace

Status tlm::importMaxPool(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(PoolAttributes attributes, readPool(node));
  if (node.wantsOutput(1)) {
    bool columnMajor = node.intAttribute("storage_order", 0) != 0;
    TLM_TRY(ValueId indices,
            maxIndices(node, x, attributes.windows, columnMajor));
    TLM_TRY_STATUS(node.bind(indices, 1));
  }
  if (isPlain(node, attributes))
    return node.bind(poolPlainly(node, Op::MaxPool, x, attributes));
  WindowLoops pool(node, node.dims(x), attributes.windows);
  Term value =
      select(pool.isInside(), pool.load(x), lowest(pool.e, node.dtype(x)));
  return node.bind(pool.e.emit(pool.e.reduce(value, Combine::Max)));
}

namespace {

/// Elements of a window that count: those in the input, or those in input and
/// padding but not in what ceil mode added.
Result<ValueId> windowCounts(NodeImporter &node, const Dims &x,
                             const PoolAttributes &attributes) {
  Dims one = x;
  one[0] = one[1] = 1;
  WindowLoops loops(node, one, attributes.windows);
  Term counts = loops.e.integer(1, DType::Bool);
  for (size_t i = 0; i < attributes.windows.size(); ++i) {
    const Window &w = attributes.windows[i];
    int64_t behind =
        attributes.countIncludePad ? w.padEnd - attributes.ceilPad[i] : 0;
    int64_t before = attributes.countIncludePad ? w.padBegin : 0;
    counts = counts & inside(loops.position(i) + double(before),
                             x[i + 2] + before + behind);
  }
  DType dtype = node.dtype(node.input(0));
  return loops.e.emit(loops.e.reduce(counts.cast(dtype), Combine::Sum));
}

} // namespace

Status tlm::importAveragePool(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(PoolAttributes attributes, readPool(node));
  attributes.countIncludePad = node.intAttribute("count_include_pad", 0) != 0;
  if (isPlain(node, attributes))
    return node.bind(poolPlainly(node, Op::AveragePool, x, attributes));
  TLM_TRY(ValueId counts, windowCounts(node, node.dims(x), attributes));
  WindowLoops pool(node, node.dims(x), attributes.windows);
  Term sum =
      pool.e.reduce(select(pool.isInside(), pool.load(x), 0), Combine::Sum);
  return node.bind(pool.e.emit(sum / pool.e.broadcast(counts)));
}

/// (sum of |x|^p)^(1/p)
Status tlm::importLpPool(NodeImporter &node) {
  ValueId x = node.input(0);
  if (!isFloat(node.dtype(x)))
    return node.unsupported("type " + std::string(nameOf(node.dtype(x))));
  TLM_TRY(PoolAttributes attributes, readPool(node));
  double p = double(node.intAttribute("p", 2));
  WindowLoops pool(node, node.dims(x), attributes.windows);
  Term power = apply(Scalar::Pow, abs(pool.load(x)), p);
  Term sum = pool.e.reduce(select(pool.isInside(), power, 0), Combine::Sum);
  return node.bind(pool.e.emit(apply(Scalar::Pow, sum, 1 / p)));
}

namespace {

/// The axes behind [N,C].
Result<std::vector<int64_t>> spatialAxes(NodeImporter &node) {
  int64_t rank = node.rank(node.input(0));
  if (rank < 3)
    return makeError("input " + dimsText(node.dims(node.input(0))) +
                     " has no spatial dims behind [N,C]");
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

} // namespace

Status tlm::importGlobalAveragePool(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(auto axes, spatialAxes(node));
  if (node.dtype(x) == DType::F32)
    return node.bind(node.emit(Op::ReduceMean, {x}, AxesAttributes{axes}));
  double count = 1;
  for (int64_t axis : axes)
    count *= double(node.dims(x)[size_t(axis)]);
  return node.bind(emitReduce(node, x, axes, Combine::Sum, nullptr,
                              [=](Term sum) { return sum / count; }));
}

Status tlm::importGlobalMaxPool(NodeImporter &node) {
  ValueId x = node.input(0);
  TLM_TRY(auto axes, spatialAxes(node));
  const Dims &dims = node.dims(x);
  bool plain = axes.size() <= 2 && node.dtype(x) == DType::F32;
  PoolAttributes attributes;
  attributes.ceilPad.assign(axes.size(), 0);
  for (int64_t axis : axes) {
    attributes.windows.push_back({dims[size_t(axis)], 1, 1, 0, 0});
    plain = plain && dims[size_t(axis)] > 0;
  }
  if (plain)
    return node.bind(poolPlainly(node, Op::MaxPool, x, attributes));
  return node.bind(emitReduce(node, x, axes, Combine::Max));
}

Status tlm::importGlobalLpPool(NodeImporter &node) {
  TLM_TRY(auto axes, spatialAxes(node));
  ValueId x = node.input(0);
  if (!isFloat(node.dtype(x)))
    return node.unsupported("type " + std::string(nameOf(node.dtype(x))));
  double p = double(node.intAttribute("p", 2));
  return node.bind(emitReduce(
      node, x, axes, Combine::Sum,
      [=](Term term) { return apply(Scalar::Pow, abs(term), p); },
      [=](Term sum) { return apply(Scalar::Pow, sum, 1 / p); }));
}

/// Values back to where MaxPool found them; zeros elsewhere.
Status tlm::importMaxUnpool(NodeImporter &node) {
  ValueId x = node.input(0), indices = node.input(1);
  const Dims dims = node.dims(x);
  auto kernel = node.intsAttribute("kernel_shape", {});
  if (node.dims(indices) != dims || node.dtype(indices) != DType::I64)
    return makeError("indices " + dimsText(node.dims(indices)) +
                     " must be like the input " + dimsText(dims));
  TLM_TRY(auto windows, readWindows(node, dims, kernel));
  Dims result = {dims[0], dims[1]};
  for (size_t i = 0; i < windows.size(); ++i)
    result.push_back((dims[i + 2] - 1) * windows[i].stride -
                     windows[i].padBegin - windows[i].padEnd +
                     windows[i].kernel);
  Dims small = result; // what the indices count in
  if (node.hasInput(2)) {
    TLM_TRY(result, node.constantInts(2));
  }
  if (result.size() != dims.size() || !checkedCountOf(result) ||
      !checkedCountOf(small) || countOf(dims) == 0)
    return makeError("an output of " + dimsText(result));
  int64_t candidates = countOf(Dims(dims.begin() + 2, dims.end()));
  if (double(countOf(result)) * double(candidates) > 5e7)
    return node.unsupported("an output of " + dimsText(result));
  Expression e(node, result, Dims(dims.begin() + 2, dims.end()));
  std::vector<Term> at = {e.loop(0), e.loop(1)};
  Term here = e.loop(0) * double(small[1]) + e.loop(1);
  Term within = e.integer(1, DType::Bool);
  for (size_t i = 2; i < result.size(); ++i) {
    at.push_back(e.reduction(i - 2));
    here = here * double(small[i]) + e.loop(i);
    within = within & (e.loop(i) < double(small[i]));
  }
  Term hit = equal(e.load(indices, at), here) & within;
  return node.bind(
      e.emit(e.reduce(select(hit, e.load(x, at), 0), Combine::Sum)));
}
