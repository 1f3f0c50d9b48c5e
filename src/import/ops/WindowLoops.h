//===- WindowLoops.h - windows over [N,C,...] as reductions -----*- C++ -*-===//

#ifndef TLM_IMPORT_OPS_WINDOWLOOPS_H
#define TLM_IMPORT_OPS_WINDOWLOOPS_H

#include "import/ops/Expression.h"

namespace tlm {

/// An expression whose loops are a window's outputs and whose reductions walk
/// through the window, for any number of spatial dims.
class WindowLoops {
public:
  WindowLoops(NodeImporter &node, const Dims &x,
              const std::vector<Window> &windows);

  /// The input's position on spatial dim i; may lie in the padding.
  Term position(size_t i);
  /// Whether the position lies in the input on all dims.
  Term isInside();
  /// The input element, clamped to the input.
  Term load(ValueId x);

  static Dims outputDims(const Dims &x, const std::vector<Window> &windows);

  Expression e;

private:
  Dims x;
  std::vector<Window> windows;
};

} // namespace tlm

#endif // TLM_IMPORT_OPS_WINDOWLOOPS_H
