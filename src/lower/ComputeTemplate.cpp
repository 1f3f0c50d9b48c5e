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
//     cache lines are used whole; a plain transpose of f32 turns blocks in
//     registers.
//
//===----------------------------------------------------------------------===//

#include "lower/ComputeExpression.h"
#include "lower/Payload.h"
#include "lower/Text.h"
#include "lower/Transpose.h"

#include <algorithm>
#include <utility>

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
        threads(input.target.threads), lanes(input.target.vectorFloats()),
        outputType(task.output().type) {
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
  bool isTranspose() const;
  void transposedLevels(size_t depth);
  void padLanes();

  /// One output element; the loop variables are open.
  void element();
  /// Outputs [low, high) of the innermost loop, reduced together.
  void rows(size_t loop, const std::string &low, const std::string &high);
  void rowLoops(size_t loop, const std::string &block, const std::string &end);

  void store(int32_t id);

  const Task &task;
  const Computation &computation;
  int64_t threads, lanes;
  const BufferType &outputType;
  Payload payload;
  LoopNest nest;
  ScalarEmitter emitter{nest};
  ComputeExpression expression{task, nest, emitter};
  std::vector<std::string> &variables = expression.variables;
  const int32_t reduce = expression.reduceNode();

  std::vector<size_t> order; ///< loops, outermost first
  std::vector<std::vector<Interval>> parts;
  std::vector<Interval> ranges;         ///< of all loops, as cut
  std::vector<std::string> lows, highs; ///< bounds a chunk sets, or empty
  std::vector<bool> isFixed;            ///< one index a chunk
  int64_t chunks = 1;
  bool useRows = false;
  /// Depth of the loop that runs inside blocks of the innermost, or none.
  size_t blockedDepth = SIZE_MAX;
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
    if (load.op != Scalar::Load || !expression.isInsideReduction(int32_t(i)))
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
/// innermost, when that is not the innermost itself. The lines that fewer than
/// two blocks touch stay in L1 without it.
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
      computation.loops[inner] < 2 * kTransposedBlock ||
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
    return isTranspose() ? transposedLevels(depth) : blockedLevel(depth);
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

/// Whether every output is one f32 input whose indices are loops and constants.
bool ComputeBuilder::isTranspose() const {
  const ScalarNode &load = node(computation.result);
  if (load.op != Scalar::Load || load.dtype != DType::F32 ||
      outputType.channelStride > outputType.dims[1])
    return false;
  const BufferType &type = task.operands[size_t(load.index)].type;
  for (size_t d = 0; d < load.arguments.size(); ++d) {
    const ScalarNode &index = node(load.arguments[d]);
    bool isLoop = index.op == Scalar::Loop &&
                  computation.loops[size_t(index.index)] <= type.dims[d];
    if (!isLoop && index.op != Scalar::Constant)
      return false;
  }
  return true;
}

/// The two innermost loops, of a transpose.
void ComputeBuilder::transposedLevels(size_t depth) {
  const ScalarNode &load = node(computation.result);
  const BufferType &inputType = task.operands[size_t(load.index)].type;
  size_t a = order[depth + 1], b = order[depth];
  IndexAnalysis whole(computation, ranges);
  std::vector<int64_t> from = stepsOf(load, whole), to = outputType.strides();
  LoopNest::Index source, target;
  for (size_t loop = 0; loop < loopCount(); ++loop)
    if (loop != a && loop != b && computation.loops[loop] != 1) {
      source.emplace_back(variables[loop], from[loop]);
      target.emplace_back(variables[loop], to[loop]);
    }
  int64_t start = inputType.origin();
  std::vector<int64_t> strides = inputType.strides();
  for (size_t d = 0; d < load.arguments.size(); ++d)
    if (const auto &form = whole.linear(load.arguments[d]))
      start += form->base * strides[d];
  auto bound = [&](const std::string &given, int64_t value) {
    return given.empty() ? nest.index(value, {}) : given;
  };
  transposeMatrix(nest, {.source = array(size_t(load.index)),
                         .target = array(task.operands.size() - 1),
                         .sourceAt = nest.index(start, source),
                         .targetAt = nest.index(outputType.origin(), target),
                         .sourceStride = from[a],
                         .targetStride = to[b],
                         .lowA = bound(lows[a], 0),
                         .highA = bound(highs[a], computation.loops[a]),
                         .lowB = bound(lows[b], 0),
                         .highB = bound(highs[b], computation.loops[b]),
                         .lanes = lanes});
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
  expression.begin(ranges);
  expression.prepare(computation.result);
  store(computation.result);
}

void ComputeBuilder::store(int32_t id) {
  std::vector<int64_t> strides = outputType.strides();
  LoopNest::Index terms;
  for (size_t d = 0; d < loopCount(); ++d)
    if (computation.loops[d] != 1)
      terms.emplace_back(variables[d], strides[d]);
  std::string result = expression.value(id);
  emitter.store({result, node(id).dtype}, array(task.operands.size() - 1),
                nest.index(outputType.origin(), terms));
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
  DType type = node(reduce).dtype;
  LoopNest::Array sums{"%worker",
                       payload.workerFloats * 4 / int64_t(sizeOf(type)),
                       memoryType(type)};
  auto open = [&] {
    expression.begin(ranges);
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
  std::string next =
      emitter.combine(computation.combine, type, old,
                      expression.value(node(reduce).arguments[0]));
  emitter.store({next, type}, sums, at);
  for (size_t r = 0; r <= computation.reductions.size(); ++r)
    nest.close();
  at = open();
  expression.set(reduce, emitter.load(sums, at, type));
  store(computation.result);
  nest.close();
}
