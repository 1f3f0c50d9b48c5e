//===- ComputeTemplate.cpp - any computation as a loop nest ---------------===//
//
// Loops over the output in the order of its memory, the contiguous one
// innermost, so that LLVM's vectoriser finds unit strides. The outer loops make
// the chunks. Three things keep the generic path from being slow:
//   - loops are cut where a condition on their indices changes (IndexAnalysis),
//     so padding and concatenation are plain copies;
//   - loads whose index is proved to be inside are not clamped, and the linear
//     parts of an index are one sum of loop variables;
//   - a reduction whose operand is contiguous along the output, not along the
//     reduction, runs over a block of outputs at a time with its accumulators
//     in the worker's memory;
//   - where operands are contiguous along another loop than the output (a
//     transpose), that loop runs inside blocks of the innermost one, so that
//     cache lines are used whole.
//
//===----------------------------------------------------------------------===//

#include "lower/IndexAnalysis.h"
#include "lower/Payload.h"
#include "lower/ScalarEmitter.h"
#include "lower/Text.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tlm;

namespace {

/// Copies of the innermost code: more make kernels slow to compile.
constexpr int64_t kMostParts = 32;
/// Outputs whose accumulators a reduction keeps at a time.
constexpr int64_t kBlock = 512;
/// Outputs of a row of a transposed block.
constexpr int64_t kTransposedBlock = 32;
/// A chunk with less work than this is not worth its call.
constexpr double kChunkNanoseconds = 2000;

class ComputeBuilder {
public:
  explicit ComputeBuilder(const TemplateInput &input)
      : task(input.task), computation(task.computation),
        threads(input.target.threads), outputType(task.output().type) {
    payload.autoVectorize = true;
    payload.packings.resize(task.operands.size());
  }

  Result<Payload> build();

private:
  size_t loopCount() const { return computation.loops.size(); }
  const ScalarNode &node(int32_t id) const {
    return computation.nodes[size_t(id)];
  }
  LoopNest::Array array(size_t operand) const {
    const BufferType &type = task.operands[operand].type;
    return {argumentName(int(operand)), type.elementCount(),
            memoryType(type.dtype)};
  }

  void classify();
  void orderLoops();
  /// Elements between what a load reads for neighbours along each loop.
  std::vector<int64_t> stepsOf(const ScalarNode &load,
                               const IndexAnalysis &analysis) const;
  bool wantsRows() const;
  void blockTransposed();
  void cutChunks();
  void level(size_t depth);
  void openLevel(size_t depth);
  void blockedLevel(size_t depth);
  void padLanes();

  /// One output element; the loop variables are open.
  void element();
  /// Outputs [low, high) of the innermost loop, reduced together.
  void rows(size_t loop, const std::string &low, const std::string &high);
  void rowLoops(size_t loop, const std::string &block, const std::string &end);

  std::string value(int32_t id);
  std::string makeValue(int32_t id);
  std::string address(int32_t load);
  std::string loadIndex(int32_t id);
  void prepare(int32_t id);
  std::string reduceScalar(int32_t id);
  std::string reducePosition(int32_t id);
  void store(int32_t id);

  const Task &task;
  const Computation &computation;
  int64_t threads;
  const BufferType &outputType;
  Payload payload;
  LoopNest nest;
  ScalarEmitter emitter{nest};

  int32_t reduce = -1;
  std::vector<bool> insideReduction; ///< per node
  std::vector<size_t> order;         ///< loops, outermost first
  std::vector<std::vector<Interval>> parts;
  std::vector<Interval> ranges;         ///< of all loops, as cut
  std::vector<std::string> variables;   ///< of all loops
  std::vector<std::string> lows, highs; ///< bounds a chunk sets, or empty
  std::vector<bool> isFixed;            ///< one index a chunk
  int64_t chunks = 1;
  bool useRows = false;
  /// Depth of the loop that runs inside blocks of the innermost, or none.
  size_t blockedDepth = SIZE_MAX;

  const IndexAnalysis *analysis = nullptr;
  std::map<int32_t, std::string> values;
  std::set<int32_t> prepared;
};

} // namespace

Result<Payload> tlm::computeTemplate(const TemplateInput &input) {
  for (const Operand &operand : input.task.operands)
    if (operand.type.dtype == DType::F16 || operand.type.dtype == DType::BF16)
      return makeError(cat("compute: ", nameOf(operand.type.dtype),
                           " operands have no kernel yet"));
  return ComputeBuilder(input).build();
}

Result<Payload> ComputeBuilder::build() {
  classify();
  orderLoops();
  parts = cutLoops(computation, order, kMostParts);
  for (const auto *extents : {&computation.loops, &computation.reductions})
    for (int64_t extent : *extents)
      ranges.push_back({0, std::max<int64_t>(extent - 1, 0)});
  variables.assign(ranges.size(), nest.index(0, {}));
  useRows = wantsRows();
  blockTransposed();
  if (useRows) {
    DType type = node(reduce).dtype;
    payload.workerType = type;
    payload.workerFloats = kBlock * int64_t(sizeOf(type)) / 4;
  }
  double steps = 1, outputs = 1;
  for (int64_t extent : computation.reductions)
    steps *= double(extent);
  for (int64_t extent : computation.loops)
    outputs *= double(extent);
  double nanoseconds =
      0.15 * outputs * steps * double(computation.nodes.size());
  payload.maxParallelism =
      std::clamp<int64_t>(int64_t(nanoseconds / kChunkNanoseconds), 1, threads);
  cutChunks();
  level(0);
  Stage stage;
  stage.name = "s0";
  stage.chunks = chunks;
  stage.body = emitter.constants() + nest.text();
  payload.stages.push_back(std::move(stage));
  return std::move(payload);
}

void ComputeBuilder::classify() {
  for (const ScalarNode &item : computation.nodes) {
    bool inside = item.op == Scalar::Loop && size_t(item.index) >= loopCount();
    for (int32_t argument : item.arguments)
      inside = inside || insideReduction[size_t(argument)];
    if (item.op == Scalar::Reduce) {
      reduce = int32_t(insideReduction.size());
      inside = false;
    }
    insideReduction.push_back(inside);
  }
}

void ComputeBuilder::orderLoops() {
  std::vector<int64_t> strides = outputType.strides();
  for (size_t d = 0; d < loopCount(); ++d)
    order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  // The channel of Nhwc stays, whatever its extent: the lanes behind it follow.
  std::erase_if(order, [&](size_t d) {
    bool isChannel = outputType.layout == Layout::Nhwc && d == 1;
    return computation.loops[d] == 1 && !isChannel;
  });
}

/// Whether the operands of the reduction are contiguous along the output's
/// innermost loop rather than along the innermost reduction.
bool ComputeBuilder::wantsRows() const {
  if (reduce < 0 || order.empty() ||
      computation.combine >= Combine::ArgMinFirst)
    return false;
  size_t inner = order.back();
  if (computation.loops[inner] < 4)
    return false;
  IndexAnalysis whole(computation, ranges);
  int along = 0, across = 0;
  for (size_t i = 0; i < computation.nodes.size(); ++i) {
    const ScalarNode &load = computation.nodes[i];
    if (load.op != Scalar::Load || !insideReduction[i])
      continue;
    std::vector<int64_t> steps = stepsOf(load, whole);
    along += steps[inner] == 1;
    across += steps.back() == 1;
  }
  return along > across;
}

std::vector<int64_t>
ComputeBuilder::stepsOf(const ScalarNode &load,
                        const IndexAnalysis &analysis) const {
  std::vector<int64_t> strides =
      task.operands[size_t(load.index)].type.strides();
  std::vector<int64_t> steps(ranges.size(), 0);
  for (size_t d = 0; d < load.arguments.size(); ++d)
    if (const auto &form = analysis.linear(load.arguments[d]))
      for (size_t loop = 0; loop < ranges.size(); ++loop)
        steps[loop] += form->coefficients[loop] * strides[d];
  return steps;
}

/// Moves the loop along which most operands are contiguous next to the
/// innermost, when that is not the innermost itself.
void ComputeBuilder::blockTransposed() {
  if (reduce >= 0 || order.size() < 2)
    return;
  IndexAnalysis whole(computation, ranges);
  std::vector<int> contiguous(loopCount(), 0);
  for (const ScalarNode &load : computation.nodes) {
    if (load.op != Scalar::Load)
      continue;
    std::vector<int64_t> steps = stepsOf(load, whole);
    for (size_t loop : order)
      contiguous[loop] += steps[loop] == 1;
  }
  size_t inner = order.back();
  auto best =
      std::max_element(order.begin(), order.end() - 1, [&](size_t a, size_t b) {
        return contiguous[a] < contiguous[b];
      });
  if (contiguous[*best] <= contiguous[inner] ||
      computation.loops[inner] < kTransposedBlock ||
      computation.loops[*best] < 4)
    return;
  std::rotate(best, best + 1, order.end() - 1);
  blockedDepth = order.size() - 2;
}

/// The outer loops, flattened, and a part of the next one make the chunks.
void ComputeBuilder::cutChunks() {
  lows.resize(loopCount());
  highs.resize(loopCount());
  isFixed.resize(loopCount(), false);
  int64_t wanted = payload.maxParallelism > 1 ? 4 * payload.maxParallelism : 1;
  size_t fixed = 0;
  auto isLanes = [&](size_t depth) {
    return depth + 1 == order.size() && outputType.layout == Layout::Nhwc;
  };
  int64_t product = 1;
  while (fixed < order.size() && !isLanes(fixed) &&
         product * computation.loops[order[fixed]] <= wanted)
    product *= computation.loops[order[fixed++]];
  int64_t pieces = 1;
  std::string rest = "%chunk";
  if (product < wanted && fixed < order.size() && !isLanes(fixed)) {
    size_t loop = order[fixed];
    int64_t extent = computation.loops[loop];
    pieces = std::min(extent, (wanted + product - 1) / product);
    int64_t size = (extent + pieces - 1) / pieces;
    if (fixed + 1 == order.size())
      size = std::min(extent, (size + 63) / 64 * 64);
    pieces = (extent + size - 1) / size;
    if (pieces > 1) {
      lows[loop] = nest.affine(cat("(d0 mod ", pieces, ") * ", size), {rest});
      highs[loop] = nest.fresh("end");
      nest.raw(cat("    ", highs[loop],
                   " = affine.min affine_map<(d0) -> (d0 + ", size, ", ",
                   extent, ")>(", lows[loop], ")\n"));
      rest = nest.affine(cat("d0 floordiv ", pieces), {rest});
    }
  }
  for (size_t depth = fixed; depth-- > 0;) {
    size_t loop = order[depth];
    int64_t extent = computation.loops[loop];
    lows[loop] = nest.affine(cat("d0 mod ", extent), {rest});
    highs[loop] = nest.affine("d0 + 1", {lows[loop]});
    isFixed[loop] = true;
    rest = nest.affine(cat("d0 floordiv ", extent), {rest});
  }
  chunks = product * pieces;
}

void ComputeBuilder::level(size_t depth) {
  if (depth == order.size())
    return element();
  if (depth == blockedDepth)
    return blockedLevel(depth);
  openLevel(depth);
}

/// for block of the innermost loop { the levels from `depth` on }
void ComputeBuilder::blockedLevel(size_t depth) {
  size_t inner = order.back();
  std::string low = lows[inner], high = highs[inner];
  if (low.empty()) {
    low = nest.index(0, {});
    high = nest.index(computation.loops[inner], {});
  }
  std::string step = nest.index(kTransposedBlock, {}),
              block = nest.fresh("block"), end = nest.fresh("end");
  nest.raw(cat("  scf.for ", block, " = ", low, " to ", high, " step ", step,
               " {\n    ", end, " = affine.min affine_map<(d0, d1) -> (d0 + ",
               kTransposedBlock, ", d1)>(", block, ", ", high, ")\n"));
  std::string oldLow = std::exchange(lows[inner], block);
  std::string oldHigh = std::exchange(highs[inner], end);
  openLevel(depth);
  nest.close();
  lows[inner] = oldLow;
  highs[inner] = oldHigh;
}

void ComputeBuilder::openLevel(size_t depth) {
  size_t loop = order[depth];
  bool isInner = depth + 1 == order.size();
  Interval whole = ranges[loop];
  for (const Interval &part : parts[loop]) {
    ranges[loop] = part;
    bool isWhole = parts[loop].size() == 1;
    if (isFixed[loop] && isWhole && !(isInner && useRows)) {
      variables[loop] = lows[loop];
      level(depth + 1);
      continue;
    }
    std::string low = lows[loop], high = highs[loop];
    if (low.empty()) {
      low = nest.index(part.low, {});
      high = nest.index(part.high + 1, {});
    } else if (!isWhole) {
      std::string from = nest.fresh("from"), to = nest.fresh("to");
      nest.raw(cat("    ", from, " = affine.max affine_map<(d0) -> (d0, ",
                   part.low, ")>(", low, ")\n    ", to,
                   " = affine.min affine_map<(d0) -> (d0, ", part.high + 1,
                   ")>(", high, ")\n"));
      low = from;
      high = to;
    }
    if (isInner && useRows) {
      rows(loop, low, high);
      continue;
    }
    variables[loop] = nest.openBetween("i", low, high);
    level(depth + 1);
    nest.close();
  }
  ranges[loop] = whole;
  if (isInner)
    padLanes();
}

/// Lanes behind C must hold finite values (BufferType.h).
void ComputeBuilder::padLanes() {
  if (outputType.layout != Layout::Nhwc ||
      outputType.channelStride == outputType.dims[1])
    return;
  std::vector<int64_t> strides = outputType.strides();
  std::string lane =
      nest.open("pad", outputType.dims[1], outputType.channelStride);
  nest.store(emitter.real(DType::F32, 0), array(task.operands.size() - 1),
             nest.index(outputType.origin(), {{variables[0], strides[0]},
                                              {variables[2], strides[2]},
                                              {variables[3], strides[3]},
                                              {lane, 1}}));
  nest.close();
}

void ComputeBuilder::element() {
  IndexAnalysis here(computation, ranges);
  analysis = &here;
  values.clear();
  prepared.clear();
  prepare(computation.result);
  store(computation.result);
}

void ComputeBuilder::store(int32_t id) {
  std::vector<int64_t> strides = outputType.strides();
  LoopNest::Index terms;
  for (size_t d = 0; d < loopCount(); ++d)
    if (computation.loops[d] != 1)
      terms.emplace_back(variables[d], strides[d]);
  std::string result = value(id);
  emitter.store({result, node(id).dtype}, array(task.operands.size() - 1),
                nest.index(outputType.origin(), terms));
}

/// Makes what `id` needs from outside a reduction loop, so that it stands
/// before the loop, and the reduction itself.
void ComputeBuilder::prepare(int32_t id) {
  id = analysis->resolve(id);
  if (!prepared.insert(id).second)
    return;
  const ScalarNode &item = node(id);
  for (int32_t argument : item.arguments)
    prepare(argument);
  if (item.op == Scalar::Reduce)
    values[id] = computation.combine >= Combine::ArgMinFirst
                     ? reducePosition(id)
                     : reduceScalar(id);
  else if (!insideReduction[size_t(id)])
    value(id);
}

std::string ComputeBuilder::value(int32_t id) {
  id = analysis->resolve(id);
  if (auto found = values.find(id); found != values.end())
    return found->second;
  std::string name = makeValue(id);
  values[id] = name;
  return name;
}

std::string ComputeBuilder::makeValue(int32_t id) {
  const ScalarNode &item = node(id);
  if (!isFloat(item.dtype) && analysis->range(id).isConstant())
    return emitter.integer(item.dtype, analysis->range(id).low);
  switch (item.op) {
  case Scalar::Loop: {
    std::string name = nest.fresh("l");
    nest.raw(cat("    ", name, " = arith.index_cast ",
                 variables[size_t(item.index)], " : index to i64\n"));
    return name;
  }
  case Scalar::Load: {
    const BufferType &type = task.operands[size_t(item.index)].type;
    if (type.elementCount() == 0)
      return isFloat(item.dtype) ? emitter.real(item.dtype, 0)
                                 : emitter.integer(item.dtype, 0);
    std::string at = address(id);
    return emitter.load(array(size_t(item.index)), at, item.dtype);
  }
  default: {
    std::vector<ScalarValue> arguments;
    for (int32_t argument : item.arguments)
      arguments.push_back(
          {value(argument), node(argument).dtype, analysis->range(argument)});
    return emitter.emit(item, arguments);
  }
  }
}

/// An index value: clamped where it is not proved to be inside.
std::string ComputeBuilder::loadIndex(int32_t id) {
  std::string whole = value(id), name = nest.fresh("x");
  nest.raw(
      cat("    ", name, " = arith.index_cast ", whole, " : i64 to index\n"));
  return name;
}

std::string ComputeBuilder::address(int32_t id) {
  const ScalarNode &load = node(id);
  const BufferType &type = task.operands[size_t(load.index)].type;
  std::vector<int64_t> strides = type.strides();
  int64_t base = type.origin();
  std::map<size_t, int64_t> coefficients; // per loop
  LoopNest::Index terms;
  for (size_t d = 0; d < load.arguments.size(); ++d) {
    int32_t index = load.arguments[d];
    int64_t last = type.dims[d] - 1;
    if (last == 0)
      continue; // clamped to 0
    const Interval &range = analysis->range(index);
    bool isInside = range.isWithin(0, last);
    if (const auto &form = analysis->linear(index); form && isInside) {
      base += form->base * strides[d];
      for (size_t loop = 0; loop < ranges.size(); ++loop)
        if (form->coefficients[loop] && !ranges[loop].isConstant())
          coefficients[loop] += form->coefficients[loop] * strides[d];
        else if (form->coefficients[loop])
          base += form->coefficients[loop] * ranges[loop].low * strides[d];
      continue;
    }
    std::string at = loadIndex(index);
    auto limit = [&](const char *op, int64_t bound) {
      std::string limited = nest.fresh("x");
      nest.raw(cat("    ", limited, " = arith.", op, " ", at, ", ",
                   nest.index(bound, {}), " : index\n"));
      at = limited;
    };
    if (range.high > last)
      limit("minsi", last);
    if (range.low < 0)
      limit("maxsi", 0);
    terms.emplace_back(at, strides[d]);
  }
  for (auto [loop, coefficient] : coefficients)
    terms.emplace_back(variables[loop], coefficient);
  return nest.index(base, terms);
}

// for r0.. { acc = combine(acc, f) }, the accumulator carried by the loops.
std::string ComputeBuilder::reduceScalar(int32_t id) {
  const ScalarNode &item = node(id);
  std::string type = ScalarEmitter::typeOf(item.dtype);
  std::string carried = emitter.identity(computation.combine, item.dtype);
  std::vector<std::string> results;
  for (size_t r = 0; r < computation.reductions.size(); ++r) {
    std::string low = nest.index(0, {}),
                high = nest.index(computation.reductions[r], {}),
                step = nest.index(1, {});
    std::string result = nest.fresh("sum"), next = nest.fresh("acc");
    std::string variable = nest.fresh("r");
    nest.raw(cat("  ", result, " = scf.for ", variable, " = ", low, " to ",
                 high, " step ", step, " iter_args(", next, " = ", carried,
                 ") -> (", type, ") {\n"));
    variables[loopCount() + r] = variable;
    results.push_back(result);
    carried = next;
  }
  std::map<int32_t, std::string> outside = values;
  std::string step = emitter.combine(computation.combine, item.dtype, carried,
                                     value(item.arguments[0]));
  values = std::move(outside);
  for (size_t r = results.size(); r-- > 0;) {
    nest.raw(cat("    scf.yield ", step, " : ", type, "\n  }\n"));
    step = results[r];
  }
  return step;
}

// The same with the extreme value and its position.
std::string ComputeBuilder::reducePosition(int32_t id) {
  int32_t argument = node(id).arguments[0];
  DType dtype = node(argument).dtype;
  std::string types = cat(ScalarEmitter::typeOf(dtype), ", i64");
  std::string best = emitter.identity(computation.combine, dtype);
  std::string position = emitter.integer(DType::I64, 0);
  std::vector<std::string> results;
  LoopNest::Index terms;
  int64_t stride = 1;
  for (size_t r = computation.reductions.size(); r-- > 0;) {
    terms.emplace_back("", stride);
    stride *= computation.reductions[r];
  }
  std::reverse(terms.begin(), terms.end());
  for (size_t r = 0; r < computation.reductions.size(); ++r) {
    std::string low = nest.index(0, {}),
                high = nest.index(computation.reductions[r], {}),
                step = nest.index(1, {});
    std::string result = nest.fresh("best"), nextBest = nest.fresh("b"),
                nextPosition = nest.fresh("at"), variable = nest.fresh("r");
    nest.raw(cat("  ", result, ":2 = scf.for ", variable, " = ", low, " to ",
                 high, " step ", step, " iter_args(", nextBest, " = ", best,
                 ", ", nextPosition, " = ", position, ") -> (", types,
                 ") {\n"));
    variables[loopCount() + r] = terms[r].first = variable;
    results.push_back(result);
    best = nextBest;
    position = nextPosition;
  }
  std::map<int32_t, std::string> outside = values;
  std::string candidate = value(argument);
  std::string better =
      emitter.isBetter(computation.combine, dtype, candidate, best);
  std::string at = nest.index(0, terms), at64 = nest.fresh("at");
  nest.raw(cat("    ", at64, " = arith.index_cast ", at, " : index to i64\n"));
  std::string newBest = emitter.select(better, candidate, best, dtype);
  std::string newPosition = emitter.select(better, at64, position, DType::I64);
  values = std::move(outside);
  for (size_t r = results.size(); r-- > 0;) {
    nest.raw(cat("    scf.yield ", newBest, ", ", newPosition, " : ", types,
                 "\n  }\n"));
    newBest = results[r] + "#0";
    newPosition = results[r] + "#1";
  }
  return newPosition;
}

void ComputeBuilder::rows(size_t loop, const std::string &low,
                          const std::string &high) {
  std::string step = nest.index(kBlock, {}), block = nest.fresh("block");
  nest.raw(cat("  scf.for ", block, " = ", low, " to ", high, " step ", step,
               " {\n"));
  std::string end = nest.fresh("end");
  nest.raw(cat("    ", end, " = affine.min affine_map<(d0, d1) -> (d0 + ",
               kBlock, ", d1)>(", block, ", ", high, ")\n"));
  rowLoops(loop, block, end);
  nest.close();
}

// for j { acc[j] = identity }; for r.. for j { acc[j] = combine(acc[j], f) };
// for j { out[j] = g(acc[j]) }
void ComputeBuilder::rowLoops(size_t loop, const std::string &block,
                              const std::string &end) {
  IndexAnalysis here(computation, ranges);
  analysis = &here;
  DType type = node(reduce).dtype;
  LoopNest::Array sums{"%worker",
                       payload.workerFloats * 4 / int64_t(sizeOf(type)),
                       memoryType(type)};
  auto open = [&] {
    values.clear();
    variables[loop] = nest.openBetween("j", block, end);
    return nest.affine("d0 - d1", {variables[loop], block});
  };
  std::string at = open();
  emitter.store({emitter.identity(computation.combine, type), type}, sums, at);
  nest.close();
  for (size_t r = 0; r < computation.reductions.size(); ++r)
    variables[loopCount() + r] = nest.open("r", computation.reductions[r]);
  at = open();
  std::string old = emitter.load(sums, at, type);
  std::string next = emitter.combine(computation.combine, type, old,
                                     value(node(reduce).arguments[0]));
  emitter.store({next, type}, sums, at);
  for (size_t r = 0; r <= computation.reductions.size(); ++r)
    nest.close();
  at = open();
  values[reduce] = emitter.load(sums, at, type);
  store(computation.result);
  nest.close();
}
