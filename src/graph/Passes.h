//===- Passes.h - rewrites of the whole graph -------------------*- C++ -*-===//
//
// Each pass is one file of passes/; the list in Passes.cpp is their order.
// Every pass takes and leaves a Graph that verifyGraph accepts, keeps inputs
// and outputs (order, names, types), and keeps the ONNX name on every value
// that survives, so intermediate results can still be compared by name.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_GRAPH_PASSES_H
#define TLM_GRAPH_PASSES_H

#include "graph/Graph.h"

#include <span>

namespace tlm {

/// Operators on constants only become constants.
void foldConstants(Graph &graph);

/// Reshape to the same dims, identity Transpose, Pad by nothing and Concat of
/// one operand go; Reshape of Reshape becomes one.
void removeIdentities(Graph &graph);

/// Zero padding in front of a convolution or an average pool that has none
/// becomes the window's padding.
void foldPads(Graph &graph);

/// Taps of a convolution that read nothing but padding go.
void dropTaps(Graph &graph);

/// Per-channel Mul and Add (batch norm, mostly) behind a convolution go into
/// its weights and bias; per-column Mul behind a MatMul into its weights. A
/// longer chain of such steps behind anything else becomes one Mul and one Add.
void foldScales(Graph &graph);

/// x * sigmoid(x) and the ways to write hard-sigmoid and hard-swish become one
/// operator.
void recogniseActivations(Graph &graph);
void recogniseAttention(Graph &graph);
void recogniseGelu(Graph &graph);
void recogniseNorms(Graph &graph);
void splitWeights(Graph &graph);

/// A computation that only one computation reads moves into it, as far as the
/// expression stays small and nothing costly is computed twice.
void inlineComputations(Graph &graph);

/// Equal constants become one.
void mergeConstants(Graph &graph);

/// Nodes and values that no output needs go; ids are renumbered.
void removeDeadCode(Graph &graph);

struct GraphPass {
  const char *name;
  void (*run)(Graph &);
};

/// All of them, in order.
std::span<const GraphPass> graphPasses();

/// Runs graphPasses(); checks verifyGraph after each.
void simplifyGraph(Graph &graph);

} // namespace tlm

#endif // TLM_GRAPH_PASSES_H
