//===- RowsRule.cpp - softmax and normalisation ---------------------------===//

#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

Status rowsExist(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Softmax && task.kind != TaskKind::Normalize)
    return makeError("rows: another kind of task");
  const BufferType &type = task.find(Role::Input)->type;
  if (type.dims.empty() || task.output().type != type)
    return makeError("rows: the output is of another type");
  return success();
}

void decideRows(const RuleInput &input, Asker &ask) {
  const BufferType &type = input.task.find(Role::Input)->type;
  int64_t rows = type.elementCount() / type.dims.back();
  int64_t tile = ask(Decision::ParallelTile, "rows",
                     chunkTiles(rows, input.limits.chunks));
  // Independent sums hide the latency of additions; a loop has as many loads.
  int64_t vectors = std::max<int64_t>(1, type.dims.back() / input.lanes());
  ask(Decision::Accumulators, "",
      upTo(std::min(vectors, input.limits.registers / 2)));
  ask.maxParallelism(input, rows / tile);
}

} // namespace tlm
