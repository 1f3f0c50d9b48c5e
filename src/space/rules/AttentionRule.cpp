//===- AttentionRule.cpp - softmax(scale Q K^T + mask) V ------------------===//

#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

Status attentionExists(const RuleInput &input) {
  if (input.task.kind != TaskKind::Attention)
    return makeError("attention: another kind of task");
  return success();
}

void decideAttention(const RuleInput &input, Asker &ask) {
  const Task &task = input.task;
  const Limits &limits = input.limits;
  const std::vector<int64_t> &q = task.operands[0].type.dims;
  const std::vector<int64_t> &k = task.operands[1].type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  int64_t lanes = input.lanes(), heads = task.attention.heads;
  int64_t rows = out[1], depth = q.size() == 3 ? q[2] / heads : q[3];
  auto vectors = [lanes](int64_t floats) {
    return (floats + lanes - 1) / lanes;
  };
  int64_t keyVectors = vectors(k[k.size() - 2]);
  int64_t valueVectors = vectors(out[2] / heads);

  // A block of query rows keeps its queries, scores and result in scratch.
  int64_t rowBytes = 4 * lanes * (vectors(depth) + keyVectors + valueVectors);
  std::vector<int64_t> blocks =
      chunkTiles(rows, limits.chunks / (out[0] * heads));
  keepWithin(blocks, limits.workerBytes / rowBytes);
  int64_t block = ask(Decision::ParallelTile, "rows", blocks);

  int64_t keyRow = ask(Decision::RegisterRow, "keys",
                       upTo(std::min(keyVectors, limits.registers - 2)));
  int64_t valueRow = ask(Decision::RegisterRow, "f",
                         registerRows(valueVectors, limits.registers));
  ask(Decision::RegisterTile, "w",
      upTo(std::min(
          block, mostTileWidth(std::max(keyRow, valueRow), limits.registers))));
  ask.maxParallelism(input, out[0] * heads * (rows / block));
}

} // namespace tlm
