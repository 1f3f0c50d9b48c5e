//===- Script.h - pieces of transform scripts -------------------*- C++ -*-===//
//
// The few sequences of transform ops that the templates share. Order matters;
// each function says which pitfall it avoids.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LOWER_SCRIPT_H
#define TLM_LOWER_SCRIPT_H

#include "lower/Payload.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

/// Names of the handles of one script; every stage of a kernel has a prefix of
/// its own, so that scripts can be concatenated.
class Script {
public:
  explicit Script(std::string stage) : stage(std::move(stage)) {}

  /// Handle of the stage's function.
  std::string function() const { return "%fn_" + stage; }
  std::string fresh(const char *stem);

  /// Ops of `opName` inside the function, in program order.
  std::string match(const std::string &opName);
  /// The op that carries unit attribute `tag`.
  std::string matchTag(const std::string &tag);
  std::vector<std::string> split(const std::string &handle, int parts);
  /// Splits `op` after `point` iterations of `dimension`.
  std::pair<std::string, std::string> splitLoop(const std::string &op,
                                                int dimension, int64_t point);
  /// structured.fuse with apply_cleanup (without it producers are not pulled in
  /// after a split). `sizes` of 0 are not tiled; `order` permutes all loops.
  void fuse(const std::string &op, const std::vector<int64_t> &sizes,
            const std::vector<int64_t> &order);
  /// The register tiles of a nest of `loops` loops, the first of them rows,
  /// pixels and panels: `height` rows by the balanced sizes of `width` pixels
  /// by one panel.
  void fuseTiles(const std::string &op, int64_t height,
                 const BalancedTiles &width, LoopOrder order, size_t loops);
  std::string tile(const std::string &op, const std::vector<int64_t> &sizes);

  /// Unit dims folded, dead originals and merged slices gone. Needed before
  /// every match by program order.
  void clean(bool mergeSlices = true);
  /// Vectorises every linalg.generic, op by op: vectorize_children miscompiles
  /// rank-reducing insert_slice. Then accumulators become loop-carried vectors.
  void vectorizeAndHoist(bool castLeadingUnitDims = false);
  /// Fully unrolls the innermost loop (`factor` = its trip count).
  void unrollInnermost(int64_t factor);

  const std::string &text() const { return ops; }

private:
  std::string stage;
  std::string ops;
  int counter = 0;
};

} // namespace tlm

#endif // TLM_LOWER_SCRIPT_H
