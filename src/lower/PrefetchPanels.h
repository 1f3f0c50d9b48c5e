//===- PrefetchPanels.h - weights come before they are asked for -*- C++
//-*-===//
//
// A panel of weights is read once from L3 or memory and then again from L1 or
// L2 for every further register tile of the same panel. Hardware prefetchers
// follow one panel, so the first tile of each panel runs at memory speed and
// all others leave memory idle. This pass spreads prefetches of the next panel
// (into L2) evenly over all tiles of the current one.
//
// It acts on functions with the attribute `stream_argument = i`: in every
// innermost loop that carries vectors and loads from argument i it finds
//
//   panel   the memory that the loops whose variable the load uses sweep
//   tiles   the enclosing loops whose variable it does not use: they read the
//           panel again, `passes` times
//
// and adds one memref.prefetch an iteration. Measured: bench/networks.py; why
// hardware does not do it: docs/rationale/006-prefetch.md.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_PREFETCHPANELS_H
#define TLM_LOWER_PREFETCHPANELS_H

namespace mlir {
class ModuleOp;
}

namespace tlm {

/// On memrefs, after the transform script. Removes the attribute.
void prefetchPanels(mlir::ModuleOp module);

/// As "tlm-prefetch-panels", for tlm-opt.
void registerPrefetchPanelsPass();

} // namespace tlm

#endif // TLM_LOWER_PREFETCHPANELS_H
