#include "import/ops/Families.h"

#include "graph/ShapeRule.h"
#include "import/ops/Reducing.h"

#include <numeric>

using namespace tlm;

namespace {

/// -logarithms[n, target, ...] times the class's weight, and that weight.
struct Weighted {
  ValueId loss, weight;
};

Result<Weighted> weigh(NodeImporter &node, ValueId logarithms) {
  ValueId target = node.input(1);
  const Dims dims = node.dims(logarithms), at = node.dims(target);
  Dims expected = dims;
  expected.erase(expected.begin() + 1);
  DType dtype = node.dtype(logarithms);
  if (at != expected || !isInteger(node.dtype(target)))
    return makeError("target " + typeText(node.dtype(target), at) +
                     " for scores " + dimsText(dims));
  if (node.hasInput(2) && (node.dims(node.input(2)) != Dims{dims[1]} ||
                           node.dtype(node.input(2)) != dtype))
    return makeError("weights " + dimsText(node.dims(node.input(2))) + " for " +
                     std::to_string(dims[1]) + " classes");
  auto weightOf = [&](Expression &e, Term chosen) {
    Term weight =
        node.hasInput(2) ? e.load(node.input(2), {chosen}) : e.number(1, dtype);
    if (!node.hasAttribute("ignore_index"))
      return weight;
    int64_t ignored = node.intAttribute("ignore_index", 0);
    return select(equal(chosen, e.integer(ignored)), 0, weight);
  };
  Weighted result{};
  Expression weights(node, at);
  TLM_TRY(result.weight,
          weights.emit(
              weightOf(weights, weights.element(target).cast(DType::I64))));
  Expression losses(node, at);
  Term chosen = losses.element(target).cast(DType::I64);
  std::vector<Term> place = losses.allLoops();
  place.insert(place.begin() + 1, chosen);
  Term weight = weightOf(losses, chosen);
  // What is ignored may be anything, even infinite.
  Term loss =
      select(equal(weight, 0), 0, -losses.load(logarithms, place) * weight);
  TLM_TRY(result.loss, losses.emit(loss));
  return result;
}

Status bindLoss(NodeImporter &node, ValueId logarithms) {
  TLM_TRY(Weighted weighted, weigh(node, logarithms));
  std::string reduction = node.stringAttribute("reduction", "mean");
  if (reduction == "none")
    return node.bind(weighted.loss);
  if (reduction != "mean" && reduction != "sum")
    return makeError("reduction '" + reduction +
                     "'; none, sum and mean are allowed");
  std::vector<int64_t> axes(node.dims(weighted.loss).size());
  std::iota(axes.begin(), axes.end(), 0);
  TLM_TRY(ValueId sum, emitReduce(node, weighted.loss, axes, Combine::Sum));
  if (reduction == "mean") {
    TLM_TRY(ValueId total,
            emitReduce(node, weighted.weight, axes, Combine::Sum));
    TLM_TRY(sum, emitBinary(node, Op::Div, sum, total));
  }
  return node.bind(dropAxes(node, sum, axes));
}

Status checkScores(NodeImporter &node) {
  ValueId x = node.input(0);
  if (node.rank(x) < 2 || !isFloat(node.dtype(x)))
    return makeError("scores " + typeText(node.dtype(x), node.dims(x)) +
                     "; [N,C,...] is needed");
  return success();
}

} // namespace

Status tlm::importNegativeLogLikelihoodLoss(NodeImporter &node) {
  TLM_TRY_STATUS(checkScores(node));
  return bindLoss(node, node.input(0));
}

Status tlm::importSoftmaxCrossEntropyLoss(NodeImporter &node) {
  TLM_TRY_STATUS(checkScores(node));
  TLM_TRY(ValueId logarithms, emitLogSoftmax(node, node.input(0), 1));
  TLM_TRY_STATUS(bindLoss(node, logarithms));
  return node.wantsOutput(1) ? node.bind(logarithms, 1) : success();
}
