//===- Import.h - ONNX -> Graph ---------------------------------*- C++ -*-===//
//
// Reads a model file and normalises it into the operators of Ops.def. What the
// caller can rely on:
//   - every value has a static shape, inferred by us; where the model's own
//     value_info disagrees there is a warning and ours holds;
//   - computed values are f32; integer arithmetic on shapes is done here;
//   - values keep their ONNX names. Values that ONNX has no name for are called
//     "<output of their node>#<n>";
//   - every graph output is computed by a node of its own, under its ONNX name:
//     one that is an input, a constant or another output is copied by a Reshape
//     to its own dims.
// Every error is ErrorCode::Model and names the node; nothing in a file stops
// the process.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_IMPORT_IMPORT_H
#define TLM_IMPORT_IMPORT_H

#include "graph/Graph.h"
#include "import/ImportOptions.h"
#include "import/ModelSummary.h"

namespace tlm {

/// ONNX versions that are known to work. Newer ones are tried with a warning.
inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;
inline constexpr int64_t kOldestIr = 3, kNewestIr = 14;

struct ImportedModel {
  Graph graph;
  ModelSummary summary;
  std::vector<std::string> warnings;
};

Result<ImportedModel> importOnnx(const std::string &path,
                                 const ImportOptions &options = {});

/// The same for a model in memory; external data is looked up in `folder`.
Result<ImportedModel> importOnnxBytes(const void *data, size_t sizeBytes,
                                      const std::string &folder = {},
                                      const ImportOptions &options = {});

} // namespace tlm

#endif // TLM_IMPORT_IMPORT_H
