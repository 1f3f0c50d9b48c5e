//===- AttentionScores.h - from a softmax down to Q K^T ---------*- C++ -*-===//

#ifndef TLM_GRAPH_PASSES_ATTENTIONSCORES_H
#define TLM_GRAPH_PASSES_ATTENTIONSCORES_H

#include "graph/GraphBuilder.h"
#include "graph/Match.h"

#include <limits>

namespace tlm {

/// What a softmax takes, as scale * product + masks.
struct AttentionScores {
  /// Added to scores of `dims`: they may have been reshaped since the product,
  /// but for their last two dims. A mask that selected between the scores and
  /// a large negative number is still to be computed, with 0 for the scores.
  struct Mask {
    ValueId id = kNoValue;
    Dims dims;
    Computation selection = {};
    std::vector<ValueId> operands = {}; ///< of the selection
    bool operator==(const Mask &) const = default;
  };

  const Node *product = nullptr; ///< a MatMul
  float scale = 1;
  std::vector<Mask> masks;
  /// The sum of all masks is no less.
  float leastMask = -std::numeric_limits<float>::infinity();

  /// Nothing where the operand is written in another way, or is seen by others.
  static std::optional<AttentionScores> of(const Graph &graph,
                                           const Match &match, ValueId operand);

  /// One mask that broadcasts to [batch, heads, S, T]; kNoValue without masks,
  /// nothing where a mask has no such form.
  std::optional<ValueId> mask(GraphBuilder &builder, const Graph &graph,
                              int64_t batch, int64_t heads,
                              const std::string &name) const;
};

/// A reshape of batches of matrices that leaves the matrices as they are.
bool keepsMatrices(const Graph &graph, const Node &reshape);

} // namespace tlm

#endif // TLM_GRAPH_PASSES_ATTENTIONSCORES_H
