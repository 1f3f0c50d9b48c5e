//===- MoveRules.cpp - global pooling, pointwise, copies ------------------===//

#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

Status globalPoolExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::GlobalPool)
    return makeError("global pool: another kind of task");
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  if (in.layout != Layout::Nhwc || in.dims[1] % input.lanes())
    return makeError("global pool: channels are not whole vectors");
  if (out.elementCount() != in.dims[0] * in.dims[1])
    return makeError("global pool: the output is padded");
  for (const Operand &operand : task.operands)
    if (operand.role == Role::Extra)
      return makeError("global pool: an epilogue with operands");
  return success();
}

void decideGlobalPool(const RuleInput &input, Asker &ask) {
  const BufferType &in = input.task.find(Role::Input)->type;
  int64_t vectors = in.dims[1] / input.lanes();
  // A sum of the row and one of the rows before it.
  std::vector<int64_t> groups = divisors(vectors);
  keepWithin(groups, (input.limits.registers - 1) / 2);
  int64_t group = ask(Decision::RegisterRow, "c", groups);
  ask.maxParallelism(input, in.dims[0] * (vectors / group));
}

Status pointwiseExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Pointwise)
    return makeError("pointwise: another kind of task");
  const BufferType &out = task.output().type;
  if (out.layout != Layout::Nhwc || out.channelStride % input.lanes())
    return makeError("pointwise: output is not nhwc");
  for (const Operand &operand : task.operands) {
    const std::vector<int64_t> &d = operand.type.dims;
    bool shaped = operand.type.layout == Layout::Nhwc && d == out.dims &&
                  operand.type.channelStride >= out.channelStride;
    bool perChannel =
        operand.type.layout == Layout::Plain && d.size() == 4 &&
        d[1] == out.dims[1] && d[2] == 1 && d[3] == 1 &&
        (operand.isConstant ? d[0] == 1
                            : d[0] == out.dims[0] && d[1] == out.channelStride);
    shaped &= !operand.isConstant;
    if (!shaped && !perChannel)
      return makeError("pointwise: an operand is neither per channel nor "
                       "shaped as the output");
  }
  return success();
}

void decidePointwise(const RuleInput &input, Asker &ask) {
  const BufferType &out = input.task.output().type;
  int64_t rows =
      ask(Decision::ParallelTile, "rows",
          chunkTiles(out.dims[2], input.limits.chunks / out.dims[0]));
  ask.maxParallelism(input, out.dims[0] * (out.dims[2] / rows));
}

Status copyExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Copy)
    return makeError("copy: another kind of task");
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  if (in.dims.size() != 4)
    return makeError("copy: not an image");
  if (in.dtype != DType::F32)
    return makeError("copy: elements are not f32");
  if (in.layout == out.layout && in.channelStride != out.channelStride)
    return makeError("copy: rows are not contiguous on both sides");
  if (in.layout != out.layout &&
      std::max(in.channelStride, out.channelStride) % input.lanes())
    return makeError("copy: channels are not whole vectors");
  return success();
}

void decideCopy(const RuleInput &input, Asker &ask) {
  const BufferType &in = input.task.find(Role::Input)->type;
  bool plain = in.layout == Layout::Plain &&
               input.task.output().type.layout == Layout::Plain;
  int64_t rows = plain ? in.dims[1] * in.dims[2] : in.dims[2];
  int64_t tile = ask(Decision::ParallelTile, "rows",
                     chunkTiles(rows, input.limits.chunks / in.dims[0]));
  ask.maxParallelism(input, in.dims[0] * (rows / tile));
}

} // namespace tlm
