#include "graph/Passes.h"

#include "base/Check.h"

using namespace tlm;

std::span<const GraphPass> tlm::graphPasses() {
  static const GraphPass passes[] = {
      {"remove-unused", removeDeadCode},
      {"fold-constants", foldConstants},
      {"remove-identities", removeIdentities},
      {"fold-pads", foldPads},
      {"fold-scales", foldScales},
      {"recognise-activations", recogniseActivations},
      {"merge-constants", mergeConstants},
      {"remove-dead-code", removeDeadCode},
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
