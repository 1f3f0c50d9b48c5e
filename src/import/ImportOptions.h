//===- ImportOptions.h - shapes the user gives ------------------*- C++ -*-===//

#ifndef TLM_IMPORT_IMPORTOPTIONS_H
#define TLM_IMPORT_IMPORTOPTIONS_H

#include "base/Result.h"
#include "graph/Graph.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tlm {

/// The dims of one graph input; -1 leaves a dim as the model has it.
struct ShapeOverride {
  std::string input; ///< name, or position among the inputs; "" = the only one
  Dims dims;
};

struct ImportOptions {
  std::vector<ShapeOverride> shapes;                 ///< --shape
  std::vector<std::pair<std::string, int64_t>> dims; ///< --dim, by symbol
};

/// "x:1x3x224x224", "x:[1,3,224,224]", "0:1x3x?x-1" or, for a model with one
/// input, "1x3x224x224". Names may contain colons. Errors are ErrorCode::Usage.
Result<ShapeOverride> parseShape(std::string_view text);

/// "batch=8".
Result<std::pair<std::string, int64_t>> parseDim(std::string_view text);

} // namespace tlm

#endif // TLM_IMPORT_IMPORTOPTIONS_H
