//===- WindowAttributes.h - kernel, stride and padding ----------*- C++ -*-===//

#ifndef TLM_IMPORT_OPS_WINDOWATTRIBUTES_H
#define TLM_IMPORT_OPS_WINDOWATTRIBUTES_H

#include "import/NodeImporter.h"

namespace tlm {

/// Padding that makes the output ceil(extent / stride) long, as SAME_UPPER
/// (`oddAtEnd`) and SAME_LOWER ask; sets padBegin and padEnd of `window`.
void padSame(Window &window, int64_t extent, bool oddAtEnd);

/// Pads the end so that ceil mode's last window fits, and returns by how much.
/// That window must start inside the input or the padding before it.
int64_t padForCeil(Window &window, int64_t extent);

/// Reads strides, dilations, pads and auto_pad of a node whose input is `x` and
/// whose window spans `kernel`, one entry per spatial dim.
Result<std::vector<Window>> readWindows(NodeImporter &node, const Dims &x,
                                        const std::vector<int64_t> &kernel);

} // namespace tlm

#endif // TLM_IMPORT_OPS_WINDOWATTRIBUTES_H
