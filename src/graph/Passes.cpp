#include "graph/Passes.h"

#include "base/Check.h"

using namespace tlm;

std::span<const GraphPass> tlm::graphPasses() {
  static const GraphPass passes[] = {
      {"remove-unused", removeDeadCode},
      {"fold-constants", foldConstants},
      {"remove-identities", removeIdentities},
      {"fold-pads", foldPads},
      {"drop-taps", dropTaps},
      // Before fold-scales, which would take the + 3 of a hard-sigmoid.
      {"recognise-activations", recogniseActivations},
      {"recognise-gelu", recogniseGelu},
      {"recognise-norms", recogniseNorms},
      {"remove-unused", removeDeadCode},
      {"split-weights", splitWeights},
      {"remove-identities", removeIdentities},
      {"recognise-attention", recogniseAttention},
      {"remove-identities", removeIdentities},
      {"remove-unused", removeDeadCode},
      {"fold-scales", foldScales},
      {"merge-constants", mergeConstants},
      {"inline-computations", inlineComputations},
      {"remove-unused", removeDeadCode},
  };
  return passes;
}

void tlm::simplifyGraph(Graph &graph) {
  for (const GraphPass &pass : graphPasses()) {
    pass.run(graph);
    std::string broken = verifyGraph(graph);
    TLM_CHECK(broken.empty()) << "after " << pass.name << ": " << broken;
  }
}
