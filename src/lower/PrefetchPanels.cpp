#include "lower/PrefetchPanels.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <optional>

using namespace tlm;
using namespace mlir;

static constexpr StringLiteral kAttribute = "stream_argument";

namespace {
struct Counted {
  scf::ForOp loop;
  int64_t trips = 1, step = 1;
};

/// What one innermost loop streams.
struct Stream {
  vector::LoadOp load;
  memref::ReinterpretCastOp view;
  SmallVector<Counted> reductions; ///< outermost first, the innermost included
  SmallVector<Counted> tiles;      ///< outermost first
  int64_t steps = 1, passes = 1;

  bool reduces(Value index) const {
    return llvm::any_of(reductions, [&](Counted counted) {
      return counted.loop.getInductionVar() == index;
    });
  }
};
} // namespace

static std::optional<Counted> counted(scf::ForOp loop) {
  std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> high = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!low || *low != 0 || !high || !step)
    return std::nullopt;
  return Counted{loop, (*high + *step - 1) / *step, *step};
}

static std::optional<Stream> streamOf(scf::ForOp inner, Value argument) {
  if (inner.getNumResults() == 0 ||
      !isa<VectorType>(inner.getResult(0).getType()))
    return std::nullopt;
  Stream stream;
  inner.getBody()->walk([&](vector::LoadOp load) {
    auto view = load.getBase().getDefiningOp<memref::ReinterpretCastOp>();
    if (!stream.load && view && view.getSource() == argument)
      stream = {load, view, {}, {}, 1, 1};
  });
  if (!stream.load)
    return std::nullopt;
  auto reads = [&](scf::ForOp loop) {
    return llvm::is_contained(stream.load.getIndices(), loop.getInductionVar());
  };
  Operation *at = inner;
  for (; auto loop = dyn_cast_or_null<scf::ForOp>(at); at = at->getParentOp()) {
    if (!reads(loop))
      break;
    std::optional<Counted> c = counted(loop);
    if (!c)
      return std::nullopt;
    stream.reductions.insert(stream.reductions.begin(), *c);
    stream.steps *= c->trips;
  }
  for (; auto loop = dyn_cast_or_null<scf::ForOp>(at); at = at->getParentOp()) {
    if (reads(loop))
      break;
    std::optional<Counted> c = counted(loop);
    if (!c)
      return std::nullopt;
    stream.tiles.insert(stream.tiles.begin(), *c);
    stream.passes *= c->trips;
  }
  return stream;
}

// Row-major number of the iteration, times `scale`, plus `expression`.
static AffineExpr number(ArrayRef<Counted> loops, int64_t scale,
                         AffineExpr expression, SmallVector<Value> &operands) {
  int64_t weight = scale;
  for (Counted c : llvm::reverse(loops)) {
    AffineExpr iv = getAffineDimExpr(operands.size(), expression.getContext());
    expression = expression + iv.floorDiv(c.step) * weight;
    operands.push_back(Value(c.loop.getInductionVar()));
    weight *= c.trips;
  }
  return expression;
}

static void prefetch(scf::ForOp inner, Stream stream) {
  auto [strides, offset] =
      cast<MemRefType>(stream.view.getType()).getStridesAndOffset();
  auto source = cast<MemRefType>(stream.view.getSource().getType());
  if (source.getRank() != 1 || !source.hasStaticShape())
    return;
  // Floats of a step, and from panel to panel: as far as the reductions sweep,
  // or further where they sweep a piece of every panel.
  int64_t step = 0, panel = 0;
  for (auto [index, stride] : llvm::zip(stream.load.getIndices(), strides)) {
    if (index == inner.getInductionVar())
      step = stride;
    else if (!panel && isa<BlockArgument>(index) && !stream.reduces(index))
      panel = stride;
  }
  if (!panel)
    panel = step * stream.steps;
  int64_t perStep =
      std::max<int64_t>(1, (step + stream.passes / 2) / stream.passes);
  int64_t line = 16;
  // One pass has no idle memory; beyond a few lines a step nothing is gained.
  if (!step || stream.passes < 2 || perStep * stream.passes > 2 * step)
    return;
  if (perStep > line && perStep % line)
    perStep = (perStep + line - 1) / line * line;
  int64_t perPass = perStep * stream.steps;
  if (panel + perPass >= source.getNumElements())
    return;

  // First float of the pass's share, kept inside the argument.
  Operation *outer = stream.reductions.front().loop;
  OpBuilder builder(outer);
  Location loc = inner.getLoc();
  MLIRContext *context = builder.getContext();
  SmallVector<Value> operands;
  AffineExpr start = getAffineConstantExpr(panel, context);
  if (ShapedType::isDynamic(offset)) {
    start = start + getAffineDimExpr(0, context);
    operands.push_back(stream.view.getOffsets()[0]);
  } else {
    start = start + offset;
  }
  for (auto [index, stride] : llvm::zip(stream.load.getIndices(), strides)) {
    if (stream.reduces(index))
      continue;
    start = start + getAffineDimExpr(operands.size(), context) * stride;
    operands.push_back(index);
  }
  start = number(stream.tiles, perPass, start, operands);
  AffineMap bounded = AffineMap::get(
      operands.size(), 0,
      {start,
       getAffineConstantExpr(source.getNumElements() - perPass, context)},
      context);
  Value first = affine::AffineMinOp::create(builder, loc, bounded, operands);

  builder.setInsertionPoint(inner.getBody()->getTerminator());
  for (int64_t at = 0; at < perStep; at += line) {
    SmallVector<Value> inside = {first};
    AffineExpr address = getAffineDimExpr(0, context) + at;
    address = number(stream.reductions, perStep, address, inside);
    Value index = affine::AffineApplyOp::create(
        builder, loc, AffineMap::get(inside.size(), 0, address), inside);
    memref::PrefetchOp::create(builder, loc, stream.view.getSource(), index,
                               /*isWrite=*/false, /*localityHint=*/2,
                               /*isDataCache=*/true);
  }
}

static void prefetchPanels(func::FuncOp function) {
  auto attribute = function->getAttrOfType<IntegerAttr>(kAttribute);
  if (!attribute)
    return;
  function->removeAttr(kAttribute);
  Value argument = function.getArgument(unsigned(attribute.getInt()));
  SmallVector<scf::ForOp> innermost;
  function.walk([&](scf::ForOp loop) {
    bool nested = false;
    loop.getBody()->walk([&](scf::ForOp) { nested = true; });
    if (!nested)
      innermost.push_back(loop);
  });
  for (scf::ForOp loop : innermost)
    if (std::optional<Stream> stream = streamOf(loop, argument))
      prefetch(loop, *stream);
}

void tlm::prefetchPanels(ModuleOp module) {
  module.walk([](func::FuncOp function) { ::prefetchPanels(function); });
}

namespace {
struct PrefetchPanelsPass
    : PassWrapper<PrefetchPanelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrefetchPanelsPass)
  StringRef getArgument() const override { return "tlm-prefetch-panels"; }
  StringRef getDescription() const override {
    return "prefetch the next panel of a streamed argument";
  }
  void runOnOperation() override { tlm::prefetchPanels(getOperation()); }
};
} // namespace

void tlm::registerPrefetchPanelsPass() {
  PassRegistration<PrefetchPanelsPass>();
}
