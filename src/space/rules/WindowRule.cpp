//===- WindowRule.cpp - depthwise convolution and pooling -----------------===//

#include "space/CodeSize.h"
#include "space/rules/Choices.h"
#include "space/rules/Rule.h"

#include <algorithm>

namespace tlm {

static bool isPerChannel(const Operand &operand, const BufferType &out) {
  const std::vector<int64_t> &d = operand.type.dims;
  return operand.isConstant && d.size() == 4 && d[0] == 1 &&
         d[1] == out.dims[1] && d[2] == 1 && d[3] == 1;
}

static int64_t tapsOf(const Task &task) {
  return task.windows[0].kernel * task.windows[1].kernel;
}

Status windowExists(const RuleInput &input) {
  const Task &task = input.task;
  if (task.kind != TaskKind::Depthwise && task.kind != TaskKind::MaxPool &&
      task.kind != TaskKind::AveragePool)
    return makeError("window: another kind of task");
  const BufferType &in = task.find(Role::Input)->type;
  const BufferType &out = task.output().type;
  if (in.layout != Layout::Nhwc || out.layout != Layout::Nhwc)
    return makeError("window: buffers are not nhwc");
  if (in.channelStride % input.lanes() || in.channelStride != out.channelStride)
    return makeError("window: channels are not whole vectors");
  if (task.kind == TaskKind::AveragePool && !task.countIncludePad)
    for (const Window &window : task.windows)
      if (window.padBegin || window.padEnd)
        return makeError("window: clipped divisors of an average");
  if (tapsOf(task) > input.limits.taps)
    return makeError("window: more than " + std::to_string(input.limits.taps) +
                     " taps");
  TLM_TRY_STATUS(checkConstants(task));
  for (const Operand &operand : task.operands) {
    if (operand.role != Role::Extra)
      continue;
    bool shaped =
        operand.type.layout == Layout::Nhwc && operand.type.dims == out.dims &&
        operand.type.channelStride >= out.channelStride && !operand.isConstant;
    if (!shaped && !isPerChannel(operand, out))
      return makeError("window: an epilogue operand is neither a constant per "
                       "channel nor shaped as the output");
  }
  return success();
}

void decideWindow(const RuleInput &input, Asker &ask) {
  const Limits &limits = input.limits;
  const BufferType &out = input.task.output().type;
  int64_t images = out.dims[0], height = out.dims[2], width = out.dims[3];
  int64_t blocks = out.channelStride / input.lanes();
  int64_t rows = ask(Decision::ParallelTile, "rows",
                     chunkTiles(height, limits.chunks / images));
  int64_t rowChunks = images * (height / rows);
  int64_t chunkBlocks = ask(Decision::ParallelTile, "c",
                            chunkTiles(blocks, limits.chunks / rowChunks));

  // h * w accumulators, a weight and an input; the window unrolled over them.
  int64_t most = std::max<int64_t>(
      1, std::min(limits.registers - 2, limits.unrolledOperations /
                                            (2 * tapsOf(input.task) +
                                             epilogueOperations(input.task))));
  std::vector<int64_t> heights = divisors(rows);
  std::erase_if(heights, [&](int64_t h) { return h > most; });
  int64_t h = ask(Decision::RegisterTile, "h", heights);
  int64_t w =
      ask(Decision::RegisterTile, "w", balancedTileSizes(width, most / h));

  ask.loopOrder(chunkBlocks, rows / h, (width + w - 1) / w);
  ask.maxParallelism(input, rowChunks * (blocks / chunkBlocks));
}

} // namespace tlm
