//===- Reference.h - the plain path -----------------------------*- C++ -*-===//
//
// Interprets a Graph in ONNX order. This is what `tlm verify` and the tests
// compare compiled networks with: readable, the same bits on every machine and
// with any number of threads, and not hopelessly slow (5 GFLOP/s and more).
//
//===----------------------------------------------------------------------===//

#ifndef TLM_GRAPH_REFERENCE_H
#define TLM_GRAPH_REFERENCE_H

#include "base/Result.h"
#include "graph/Tensor.h"

#include <functional>

namespace tlm {

struct ReferenceOptions {
  /// 0: as many as the machine has CPUs.
  int threads = 0;
  /// Values to return, in this order; empty: the graph's outputs.
  std::vector<ValueId> wanted;
  /// Called for every computed value in node order, while it is in memory. Lets
  /// a caller compare intermediate results without keeping them all.
  std::function<void(ValueId, const Tensor &)> visit;
};

/// Runs the graph on `inputs`, one per graph input, of exactly its dims.
/// Values are freed after their last use unless wanted.
Result<std::vector<Tensor>> runReference(const Graph &graph,
                                         const std::vector<Tensor> &inputs,
                                         const ReferenceOptions &options = {});

} // namespace tlm

#endif // TLM_GRAPH_REFERENCE_H
