//===- AttentionRule.cpp - softmax(scale Q K^T + mask) V ------------------===//

#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

Status attentionExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Attention)
    return makeError("attention: another kind of task");
  if (task.output().type.dims[2] / task.attention.heads % input.lanes())
    return makeError("attention: the head size is no multiple of a vector");
  return success();
}

void decideAttention(const RuleInput &input, Asker &ask) {
  const Task &task = input.task;
  const Limits &limits = input.limits;
  const std::vector<int64_t> &k = task.operands[1].type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  int64_t lanes = input.lanes(), heads = task.attention.heads;
  int64_t rows = out[1], depth = out[2] / heads;
  int64_t keyVectors = (k[k.size() - 2] + lanes - 1) / lanes;

  // A block of query rows keeps its queries, scores and result in scratch.
  int64_t rowBytes = 4 * (2 * depth + keyVectors * lanes);
  std::vector<int64_t> blocks =
      chunkTiles(rows, limits.chunks / (out[0] * heads));
  keepWithin(blocks, limits.workerBytes / rowBytes);
  int64_t block = ask(Decision::ParallelTile, "rows", blocks);

  int64_t keyRow = ask(Decision::RegisterRow, "keys",
                       upTo(std::min(keyVectors, limits.registers - 2)));
  int64_t valueRow = ask(Decision::RegisterRow, "f",
                         registerRows(depth / lanes, limits.registers));
  ask(Decision::RegisterTile, "w",
      upTo(std::min(
          block, mostTileWidth(std::max(keyRow, valueRow), limits.registers))));
  ask.maxParallelism(input, out[0] * heads * (rows / block));
}

} // namespace tlm
