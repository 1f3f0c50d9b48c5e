//===- InputShapes.h - static dims for every graph input --------*- C++ -*-===//

#ifndef TLM_IMPORT_INPUTSHAPES_H
#define TLM_IMPORT_INPUTSHAPES_H

#include "import/ImportOptions.h"
#include "import/OnnxModel.h"

namespace tlm {

/// The dims of each of `inputs` (those that are no initializers) after --shape
/// and --dim. Errors: an option that names no input or symbol, another rank, a
/// dim that stays dynamic (with an example flag).
Result<std::vector<Dims>>
resolveInputShapes(const std::vector<OnnxValueInfo> &inputs,
                   const ImportOptions &options);

} // namespace tlm

#endif // TLM_IMPORT_INPUTSHAPES_H
