#include "train/TaskMutation.h"

#include "lang/TaskSentence.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace tlm;

namespace {

/// Draws extents: about half of them change. What is asked for under the same
/// name, and had the same extent, stays equal.
class Extents {
public:
  explicit Extents(Random &random) : random(random) {}

  int64_t draw(int64_t extent) {
    return random.below(2) ? extent : changed(extent);
  }
  /// As `draw`, of a batch: mostly small.
  int64_t drawBatch(int64_t extent) {
    constexpr int64_t kBatches[] = {1, 1, 1, 2, 3, 4, 6, 8, 16};
    return random.below(2) ? extent
                           : kBatches[random.below(std::size(kBatches))];
  }
  /// Two extents; equal ones mostly stay equal.
  std::pair<int64_t, int64_t> drawPair(int64_t a, int64_t b) {
    int64_t first = draw(a);
    bool together = a == b && random.below(8) != 0;
    return {first, together ? first : draw(b)};
  }

private:
  int64_t changed(int64_t extent) {
    // Up to four times as much or as little, log-uniform.
    double factor = std::exp2(double(random.below(4097)) / 1024 - 2);
    auto drawn = int64_t(std::llround(double(extent) * factor));
    switch (random.below(4)) {
    case 0:
      drawn = random.below(2) ? extent * 2 : extent / 2;
      break;
    case 1:
    case 2:
      if (drawn >= 12)
        drawn = (drawn + 4) / 8 * 8;
      break;
    default:
      break;
    }
    return std::max<int64_t>(drawn, 1);
  }

  Random &random;
};

/// Lanes behind the channels stay as many whole vectors more than it takes.
void setDims(BufferType &type, std::vector<int64_t> dims) {
  if (type.layout == Layout::Nhwc)
    type.channelStride =
        usualLanes(dims[1]) + type.channelStride - usualLanes(type.dims[1]);
  type.dims = std::move(dims);
}

/// `type` broadcasts to `from`; then it broadcasts to `to` in the same way.
void setBroadcast(BufferType &type, const std::vector<int64_t> &from,
                  const std::vector<int64_t> &to) {
  std::vector<int64_t> dims = type.dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1 || type.dims == from)
      dims[i] = to[i];
  setDims(type, std::move(dims));
}

void setOutput(Task &task, const std::vector<int64_t> &dims) {
  std::vector<int64_t> before = task.output().type.dims;
  for (Operand &operand : task.operands) {
    if (operand.role == Role::Extra)
      setBroadcast(operand.type, before, dims);
    if (operand.role == Role::Bias)
      operand.type.dims = {dims[1]};
  }
  setDims(task.operands.back().type, dims);
}

/// Sides that were wider than the windows need stay as much wider.
void setWindowInput(Task &task, const std::vector<int64_t> &dims) {
  BufferType &type = task.operands.front().type;
  Border was = windowBorder(task.windows, type.dims[2], type.dims[3]);
  Border need = windowBorder(task.windows, dims[2], dims[3]);
  Border &border = type.border;
  border.top += need.top - was.top;
  border.bottom += need.bottom - was.bottom;
  border.left += need.left - was.left;
  border.right += need.right - was.right;
  if (border.empty())
    border.value = 0;
  setDims(type, dims);
}

/// Whether the input is as large as the windows.
bool mutateWindows(Task &task, Extents &extents) {
  std::vector<int64_t> in = task.operands.front().type.dims;
  std::vector<int64_t> out = task.output().type.dims;
  in[0] = out[0] = extents.drawBatch(in[0]);
  std::tie(in[2], in[3]) = extents.drawPair(in[2], in[3]);
  for (size_t i = 0; i < 2; ++i) {
    const Window &window = task.windows[i];
    if (in[2 + i] + window.padBegin + window.padEnd <
        (window.kernel - 1) * window.dilation + 1)
      return false;
    out[2 + i] = window.outputExtent(in[2 + i]);
  }
  if (task.kind == TaskKind::Conv) {
    auto [channels, filters] =
        extents.drawPair(in[1] / task.groups, out[1] / task.groups);
    task.groups = task.groups > 1 ? extents.draw(task.groups) : 1;
    in[1] = channels * task.groups;
    out[1] = filters * task.groups;
  } else {
    in[1] = out[1] = extents.draw(in[1]);
    task.groups = task.kind == TaskKind::Depthwise ? in[1] : 1;
  }
  for (Operand &operand : task.operands) {
    if (operand.role == Role::Weight)
      operand.type.dims = {out[1], in[1] / task.groups, task.windows[0].kernel,
                           task.windows[1].kernel};
    if (operand.role == Role::InputScale)
      operand.type.dims = {in[0], in[1], 1, 1};
  }
  setWindowInput(task, in);
  setOutput(task, out);
  return true;
}

void mutateMatrices(Task &task, Extents &extents) {
  std::vector<int64_t> out = task.output().type.dims;
  size_t row = out.size() - 2;
  bool batched = row == 1;
  std::vector<int64_t> &x = task.operands[0].type.dims;
  std::vector<int64_t> &y = task.operands[1].type.dims;
  auto [n, k] = extents.drawPair(out[row + 1], x[row + 1]);
  out[row] = extents.draw(out[row]);
  out[row + 1] = n;
  if (batched) {
    int64_t before = out[0];
    out[0] = extents.draw(out[0]);
    for (std::vector<int64_t> *dims : {&x, &y})
      if ((*dims)[0] == before)
        (*dims)[0] = out[0];
  }
  x[row] = out[row];
  x[row + 1] = k;
  y[row] = task.transposedWeight ? n : k;
  y[row + 1] = task.transposedWeight ? k : n;
  setOutput(task, out);
}

void mutateAttention(Task &task, Extents &extents) {
  std::vector<int64_t> out = task.output().type.dims;
  AttentionShape &shape = task.attention;
  const std::vector<int64_t> &q = task.operands[0].type.dims;
  const std::vector<int64_t> &k = task.operands[1].type.dims;
  int64_t keys = k[k.size() - 2], share = shape.heads / shape.keyHeads;
  int64_t depth = q.size() == 4 ? q[3] : q[2] / shape.heads;
  std::vector<int64_t> scores = {out[0], shape.heads, out[1], keys};
  bool usualScale = shape.scale == 1 / std::sqrt(float(depth));
  int64_t values = out[2] / shape.heads;
  std::tie(out[1], keys) = extents.drawPair(out[1], keys);
  std::tie(depth, values) = extents.drawPair(depth, values);
  shape.keyHeads = extents.draw(shape.keyHeads);
  shape.heads = shape.keyHeads * share;
  out[0] = extents.drawBatch(out[0]);
  out[2] = values * shape.heads;
  if (usualScale)
    shape.scale = 1 / std::sqrt(float(depth));
  for (size_t i = 0; i < 3; ++i) {
    std::vector<int64_t> &dims = task.operands[i].type.dims;
    int64_t heads = i ? shape.keyHeads : shape.heads;
    int64_t positions = i ? keys : out[1], size = i < 2 ? depth : values;
    dims = dims.size() == 3 ? std::vector{out[0], positions, heads * size}
                            : std::vector{out[0], heads, positions, size};
  }
  if (task.operands.size() == 5)
    setBroadcast(task.operands[3].type, scores,
                 {out[0], shape.heads, out[1], keys});
  task.operands.back().type.dims = out;
}

/// Batch, and the rest with equal height and width kept equal.
std::vector<int64_t> drawDims(const std::vector<int64_t> &dims,
                              Extents &extents) {
  std::vector<int64_t> drawn = dims;
  size_t first = 0;
  if (dims.size() == 4) {
    drawn[0] = extents.drawBatch(dims[0]);
    std::tie(drawn[2], drawn[3]) = extents.drawPair(dims[2], dims[3]);
    drawn[1] = extents.draw(dims[1]);
    first = 4;
  }
  for (size_t i = first; i < dims.size(); ++i)
    drawn[i] = extents.draw(dims[i]);
  return drawn;
}

/// Where every operand has the output's dims, or broadcasts to them.
void mutateElementwise(Task &task, Extents &extents) {
  std::vector<int64_t> before = task.output().type.dims;
  std::vector<int64_t> dims = drawDims(before, extents);
  for (Operand &operand : task.operands) {
    if (operand.role == Role::Input)
      setBroadcast(operand.type, before, dims);
    if (task.kind == TaskKind::Normalize &&
        (operand.role == Role::Weight || operand.role == Role::Bias))
      operand.type.dims = {dims.back()};
  }
  for (Operand &operand : task.operands)
    if (operand.role == Role::Extra)
      setBroadcast(operand.type, before, dims);
  setDims(task.operands.back().type, dims);
}

void mutateConcat(Task &task, Extents &extents) {
  std::vector<int64_t> out = drawDims(task.output().type.dims, extents);
  out[1] = 0;
  for (Operand &operand : task.operands) {
    if (operand.role != Role::Input)
      continue;
    std::vector<int64_t> dims = out;
    dims[1] = extents.draw(operand.type.dims[1]);
    setDims(operand.type, dims);
    out[1] += dims[1];
  }
  setOutput(task, out);
}

void mutateGlobalPool(Task &task, Extents &extents) {
  BufferType &in = task.operands.front().type;
  std::vector<int64_t> dims = drawDims(in.dims, extents);
  setDims(in, dims);
  setOutput(task, {dims[0], dims[1], 1, 1});
}

} // namespace

std::optional<Task> tlm::mutateTask(const Task &task, Random &random) {
  Task mutated = task;
  Extents extents(random);
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    if (!mutateWindows(mutated, extents))
      return std::nullopt;
    break;
  case TaskKind::MatMul:
  case TaskKind::BatchMatMul:
    mutateMatrices(mutated, extents);
    break;
  case TaskKind::Attention:
    mutateAttention(mutated, extents);
    break;
  case TaskKind::Pointwise:
  case TaskKind::Copy:
  case TaskKind::Softmax:
  case TaskKind::Normalize:
    mutateElementwise(mutated, extents);
    break;
  case TaskKind::Concat:
    mutateConcat(mutated, extents);
    break;
  case TaskKind::GlobalPool:
    mutateGlobalPool(mutated, extents);
    break;
  case TaskKind::Compute:
    return std::nullopt;
  }
  if (mutated.operands == task.operands || !mutated.verify().empty() ||
      mutated.flops() > kMostFlops || mutated.bytes() > kMostBytes)
    return std::nullopt;
  return mutated;
}
