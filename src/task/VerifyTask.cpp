//===- VerifyTask.cpp - the contract of a task ----------------------------===//

#include "task/Task.h"

#include <algorithm>
#include <cmath>

namespace tlm {

/// Above it byte offsets could overflow.
static constexpr int64_t kMaxElements = int64_t(1) << 46;
/// Border widths, kernels and strides stay far below.
static constexpr int64_t kMaxWindow = int64_t(1) << 24;

Border windowBorder(const std::vector<Window> &windows, int64_t height,
                    int64_t width) {
  auto end = [](const Window &window, int64_t extent) {
    int64_t last = (window.outputExtent(extent) - 1) * window.stride +
                   (window.kernel - 1) * window.dilation - window.padBegin;
    return std::max<int64_t>(0, last + 1 - extent);
  };
  return Border{windows[0].padBegin, end(windows[0], height),
                windows[1].padBegin, end(windows[1], width), 0};
}

/// `least`: of every extent.
static std::string verifyType(const BufferType &type, int64_t least) {
  if (sizeOf(type.dtype) == 0)
    return "no element type";
  if (type.dims.empty() && type.layout == Layout::Nhwc)
    return "nhwc without dims";
  const Border &border = type.border;
  for (int64_t side : {border.top, border.bottom, border.left, border.right})
    if (side < 0 || side > kMaxWindow)
      return "border width out of range";
  if (std::isnan(border.value))
    return "border of nan";
  if ((type.layout == Layout::Nhwc || !border.empty()) && type.dims.size() != 4)
    return "nhwc or a border with rank " + std::to_string(type.dims.size());
  if (border.empty() && border.value != 0)
    return "value of an empty border";
  for (int64_t dim : type.dims)
    if (dim < least || dim > kMaxElements)
      return "extent " + std::to_string(dim);
  if (type.layout == Layout::Nhwc ? type.channelStride < type.dims[1] ||
                                        type.channelStride > kMaxElements
                                  : type.channelStride != 0)
    return "channel stride " + std::to_string(type.channelStride);
  int64_t count = 1;
  auto grow = [&count](int64_t factor) {
    return __builtin_mul_overflow(count, factor, &count) ||
           count > kMaxElements;
  };
  for (size_t i = 0; i < type.dims.size(); ++i) {
    int64_t extent = type.dims[i];
    if (type.layout == Layout::Nhwc && i == 1)
      extent = type.channelStride;
    if (type.dims.size() == 4 && i == 2)
      extent += border.top + border.bottom;
    if (type.dims.size() == 4 && i == 3)
      extent += border.left + border.right;
    if (grow(extent))
      return "too many elements";
  }
  return {};
}

static bool broadcastsTo(const std::vector<int64_t> &from,
                         const std::vector<int64_t> &to) {
  if (from.size() != to.size())
    return false;
  for (size_t i = 0; i < to.size(); ++i)
    if (from[i] != to[i] && from[i] != 1)
      return false;
  return true;
}

static std::string verifyPoints(const Task &task) {
  for (size_t i = 0; i < task.points.size(); ++i) {
    const PointOp &point = task.points[i];
    std::string where = "point" + std::to_string(i) + ": ";
    if (!isPointwise(point.op))
      return where + std::string(nameOf(point.op)) + " is not pointwise";
    size_t least = 1, most = 1;
    switch (point.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
      least = most = 2;
      break;
    case Op::Max:
    case Op::Min:
      most = 64;
      break;
    default:
      break;
    }
    if (point.inputs.size() < least || point.inputs.size() > most)
      return where + std::to_string(point.inputs.size()) + " arguments";
    for (PointRef ref : point.inputs) {
      if (ref.kind == PointRef::Kind::Point &&
          (ref.index < 0 || size_t(ref.index) >= i))
        return where + "reads point" + std::to_string(ref.index);
      if (ref.kind == PointRef::Kind::Operand &&
          (ref.index < 0 || size_t(ref.index) >= task.operands.size() ||
           task.operands[size_t(ref.index)].role != Role::Extra))
        return where + "operand" + std::to_string(ref.index) +
               " is not an extra";
    }
  }
  return {};
}

namespace {
/// The operands a kind must have; the counts of Input and Extra are checked
/// apart.
struct Form {
  bool weight = false, bias = false, scale = false, windows = false;
  bool points = true, f32 = true;
};
} // namespace

static Form formOf(TaskKind kind) {
  switch (kind) {
  case TaskKind::Conv:
    return {.weight = true, .bias = true, .scale = true, .windows = true};
  case TaskKind::Depthwise:
    return {.weight = true, .bias = true, .windows = true};
  case TaskKind::MatMul:
    return {.weight = true, .bias = true};
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return {.windows = true};
  case TaskKind::GlobalPool:
  case TaskKind::Pointwise:
    return {};
  case TaskKind::Copy:
    return {.points = false, .f32 = false};
  case TaskKind::Compute:
    return {.points = false, .f32 = false};
  case TaskKind::BatchMatMul:
    return {};
  case TaskKind::Normalize:
    return {.weight = true, .bias = true, .points = false};
  case TaskKind::Attention:
  case TaskKind::Concat:
  case TaskKind::Softmax:
    return {.points = false};
  }
  return {};
}

static std::string verifyWindows(const Task &task) {
  const BufferType &in = task.operands.front().type;
  const std::vector<int64_t> &out = task.output().type.dims;
  if (task.windows.size() != 2 || in.dims.size() != 4 || out.size() != 4)
    return "needs two windows and rank 4";
  for (size_t i = 0; i < 2; ++i) {
    const Window &window = task.windows[i];
    for (int64_t value : {window.kernel, window.stride, window.dilation})
      if (value < 1 || value > kMaxWindow)
        return "window out of range";
    for (int64_t value : {window.padBegin, window.padEnd})
      if (value < 0 || value > kMaxWindow)
        return "padding out of range";
    int64_t covered = in.dims[2 + i] + window.padBegin + window.padEnd;
    if (covered < (window.kernel - 1) * window.dilation + 1 ||
        window.outputExtent(in.dims[2 + i]) != out[2 + i])
      return "window does not give the output's extent";
  }
  Border need = windowBorder(task.windows, in.dims[2], in.dims[3]);
  const Border &have = in.border;
  if (have.top < need.top || have.bottom < need.bottom ||
      have.left < need.left || have.right < need.right)
    return "input border narrower than its windows read";
  return {};
}

static std::string verifyComputation(const Task &task) {
  std::vector<DType> types;
  std::vector<size_t> ranks;
  for (size_t i = 0; i + 1 < task.operands.size(); ++i) {
    types.push_back(task.operands[i].type.dtype);
    ranks.push_back(task.operands[i].type.dims.size());
  }
  const Computation &computation = task.computation;
  if (std::string broken = computation.verify(types, ranks); !broken.empty())
    return broken;
  if (computation.loops != task.output().type.dims)
    return "loops are not the output's dims";
  const ScalarNode &result = computation.nodes[size_t(computation.result)];
  return result.dtype == task.output().type.dtype ? "" : "yields another type";
}

static std::string verifyBatchMatMul(const Task &task) {
  for (const Operand &operand : task.operands)
    if (operand.role != Role::Extra &&
        (operand.type.layout != Layout::Plain || operand.type.dims.size() != 3))
      return "needs plain batches of matrices";
  const std::vector<int64_t> &x = task.operands[0].type.dims;
  std::vector<int64_t> y = task.operands[1].type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  if (task.transposedWeight)
    std::swap(y[1], y[2]);
  for (int64_t batch : {x[0], y[0]})
    if (batch != 1 && batch != out[0])
      return "batches do not fit";
  return x[1] == out[1] && x[2] == y[1] && y[2] == out[2]
             ? ""
             : "matrix dims do not fit";
}

static std::string verifyNormalize(const Task &task) {
  const BufferType &in = task.operands.front().type;
  if (in.layout != Layout::Plain || task.output().type != in || in.dims.empty())
    return "needs equal plain types";
  for (const Operand &operand : task.operands)
    if ((operand.role == Role::Weight || operand.role == Role::Bias) &&
        operand.type.dims != std::vector{in.dims.back()})
      return "a parameter is not one value per column";
  return task.epsilon >= 0 ? "" : "negative epsilon";
}

static std::string verifyAttention(const Task &task) {
  auto [heads, keyHeads, scale] = task.attention;
  const std::vector<int64_t> &out = task.output().type.dims;
  for (const Operand &operand : task.operands)
    if (operand.type.layout != Layout::Plain)
      return "needs plain buffers";
  if (heads < 1 || keyHeads < 1 || heads % keyHeads || std::isnan(scale) ||
      out.size() != 3 || out[2] % heads)
    return "heads do not fit";
  // Q and K share the size of their heads; V's is the output's.
  const std::vector<int64_t> &q = task.operands[0].type.dims;
  int64_t batch = out[0], keys = 0;
  int64_t depth = q.size() == 4 ? q[3] : q.back() / heads;
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<int64_t> &d = task.operands[i].type.dims;
    int64_t count = i ? keyHeads : heads, size = i < 2 ? depth : out[2] / heads;
    if (d.size() != 3 && d.size() != 4)
      return "needs rank 3 or 4";
    int64_t positions = d[d.size() - 2];
    if (i == 1)
      keys = positions;
    if (d != (d.size() == 3 ? std::vector{batch, positions, count * size}
                            : std::vector{batch, count, positions, size}) ||
        (i == 0 && positions != out[1]) || (i == 2 && positions != keys))
      return "operand dims do not fit";
  }
  if (task.operands.size() == 5)
    return broadcastsTo(task.operands[3].type.dims,
                        {batch, heads, out[1], keys})
               ? ""
               : "mask does not broadcast to the scores";
  return {};
}

static std::string verifyShapes(const Task &task) {
  const std::vector<int64_t> &in = task.operands.front().type.dims;
  const std::vector<int64_t> &out = task.output().type.dims;
  const Operand *weight = task.find(Role::Weight);
  const Operand *bias = task.find(Role::Bias);
  if (formOf(task.kind).windows)
    if (std::string broken = verifyWindows(task); !broken.empty())
      return broken;
  if (task.kind != TaskKind::Normalize && bias &&
      (out.size() < 2 || bias->type.dims != std::vector{out[1]}))
    return "bias is not one value per output channel";
  if (weight &&
      (weight->type.layout != Layout::Plain || !weight->type.border.empty()))
    return "weight is not plain";

  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise: {
    if (in[0] != out[0] || task.groups < 1 || in[1] % task.groups != 0 ||
        out[1] % task.groups != 0)
      return "batch or groups do not fit";
    if (weight->type.dims != std::vector{out[1], in[1] / task.groups,
                                         task.windows[0].kernel,
                                         task.windows[1].kernel})
      return "weight dims do not fit";
    if (task.kind == TaskKind::Depthwise &&
        (task.groups != in[1] || in[1] != out[1]))
      return "depthwise needs groups = channels = outputs";
    const Operand *scale = task.find(Role::InputScale);
    if (scale && (scale->type.layout != Layout::Plain ||
                  scale->type.dims != std::vector<int64_t>{in[0], in[1], 1, 1}))
      return "input scale is not plain [N,C,1,1]";
    return {};
  }
  case TaskKind::MatMul: {
    if (in.size() != 2 || out.size() != 2 || weight->type.dims.size() != 2 ||
        task.operands.front().type.layout != Layout::Plain ||
        task.output().type.layout != Layout::Plain)
      return "needs plain matrices";
    std::vector<int64_t> kn = weight->type.dims;
    if (task.transposedWeight)
      std::swap(kn[0], kn[1]);
    if (in[0] != out[0] || in[1] != kn[0] || out[1] != kn[1])
      return "matrix dims do not fit";
    return {};
  }
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return in[0] == out[0] && in[1] == out[1] ? "" : "channels do not fit";
  case TaskKind::GlobalPool:
    return in.size() == 4 && out == std::vector<int64_t>{in[0], in[1], 1, 1}
               ? ""
               : "needs [N,C,H,W] to [N,C,1,1]";
  case TaskKind::Pointwise:
    return broadcastsTo(in, out) ? "" : "input does not broadcast to output";
  case TaskKind::Copy:
    return in == out &&
                   task.operands.front().type.dtype == task.output().type.dtype
               ? ""
               : "copies between different types";
  case TaskKind::Softmax:
    return in == out && !in.empty() &&
                   task.operands.front().type.layout == Layout::Plain &&
                   task.output().type.layout == Layout::Plain
               ? ""
               : "needs equal plain types";
  case TaskKind::Concat: {
    if (out.size() < 2)
      return "rank below 2";
    int64_t channels = 0;
    for (size_t i = 0; i + 1 < task.operands.size(); ++i) {
      std::vector<int64_t> dims = task.operands[i].type.dims;
      if (dims.size() != out.size())
        return "ranks differ";
      channels += dims[1];
      dims[1] = out[1];
      if (dims != out)
        return "inputs differ beside the channel";
    }
    return channels == out[1] ? "" : "channels do not add up";
  }
  case TaskKind::Normalize:
    return verifyNormalize(task);
  case TaskKind::Attention:
    return verifyAttention(task);
  case TaskKind::Compute:
    return verifyComputation(task);
  case TaskKind::BatchMatMul:
    return verifyBatchMatMul(task);
  }
  return "unknown kind";
}

std::string Task::verify() const {
  // A Compute task may need no input: what it yields follows from the indices.
  bool noInput = kind == TaskKind::Compute && operands.size() == 1;
  if (operands.empty() || operands.back().role != Role::Output ||
      (!noInput && operands.front().role != Role::Input))
    return "operands do not start with an input and end with the output";
  Form form = formOf(kind);
  int64_t counts[6] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand &operand = operands[i];
    std::string where = "operand" + std::to_string(i) + ": ";
    if (i && operand.role < operands[i - 1].role)
      return where + "out of the order of roles";
    ++counts[size_t(operand.role)];
    bool mayBeEmpty = kind == TaskKind::Compute && operand.role == Role::Input;
    if (std::string broken = verifyType(operand.type, mayBeEmpty ? 0 : 1);
        !broken.empty())
      return where + broken;
    if (form.f32 && operand.type.dtype != DType::F32)
      return where + "not f32";
    if (operand.role == Role::Extra && kind != TaskKind::Attention &&
        !broadcastsTo(operand.type.dims, output().type.dims))
      return where + "does not broadcast to the output";
  }
  auto count = [&counts](Role role) { return counts[size_t(role)]; };
  if (operands.back().isConstant || count(Role::Output) != 1)
    return "needs one output that is no constant";
  bool manyInputs = kind == TaskKind::Concat || kind == TaskKind::Compute;
  int64_t wantedInputs = kind == TaskKind::BatchMatMul ? 2
                         : kind == TaskKind::Attention ? 3
                                                       : 1;
  bool optionalWeight = kind == TaskKind::Normalize;
  if ((!manyInputs && count(Role::Input) != wantedInputs) ||
      count(Role::Weight) > int64_t(form.weight) ||
      (!optionalWeight && count(Role::Weight) < int64_t(form.weight)) ||
      count(Role::Bias) > int64_t(form.bias) ||
      count(Role::InputScale) > int64_t(form.scale) ||
      (count(Role::Extra) && points.empty() && kind != TaskKind::Attention))
    return "operands do not fit the kind";
  if ((!form.windows && !windows.empty()) ||
      (!points.empty() && !form.points) ||
      (groups != 1 && kind != TaskKind::Conv && kind != TaskKind::Depthwise) ||
      (transposedWeight && kind != TaskKind::MatMul &&
       kind != TaskKind::BatchMatMul) ||
      (countIncludePad && kind != TaskKind::AveragePool) ||
      (kind != TaskKind::Compute && computation != Computation{}))
    return "attributes do not fit the kind";
  if (std::string broken = verifyPoints(*this); !broken.empty())
    return broken;
  return verifyShapes(*this);
}

} // namespace tlm
