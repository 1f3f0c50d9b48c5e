#include "lower/KernelCase.h"

#include <cmath>

using namespace tlm;

static BufferType plain(std::vector<int64_t> dims) {
  BufferType type;
  type.dims = std::move(dims);
  return type;
}

static BufferType nhwc(int64_t n, int64_t c, int64_t h, int64_t w,
                       int64_t border, float value = 0) {
  BufferType type;
  type.layout = Layout::Nhwc;
  type.dims = {n, c, h, w};
  type.channelStride = (c + 15) / 16 * 16;
  type.border = {border, border, border, border, value};
  return type;
}

static PointRef lastPoint(const std::vector<PointOp> &points) {
  if (points.empty())
    return {};
  return {PointRef::Kind::Point, int32_t(points.size()) - 1};
}

ConvCase &ConvCase::add(Op op, float a, float b) {
  points.push_back({op, {lastPoint(points)}, a, b});
  return *this;
}

ConvCase &ConvCase::residual() {
  hasResidual = true;
  // Operands are in the order of their role: input, weight, bias, extra.
  points.push_back(
      {Op::Add, {lastPoint(points), {PointRef::Kind::Operand, 3}}, 0, 0});
  return *this;
}

Task ConvCase::task() const {
  Task task;
  task.kind = depthwise ? TaskKind::Depthwise : TaskKind::Conv;
  task.groups = depthwise ? c : groups;
  Window window{k, stride, dilation, pad, pad};
  task.windows = {window, window};
  int64_t oh = window.outputExtent(h), ow = window.outputExtent(w);
  BufferType input = nhwc(n, c, h, w, pad);
  if (nchwInput) {
    input.layout = Layout::Plain;
    input.channelStride = 0;
  }
  task.operands = {{Role::Input, input, false},
                   {Role::Weight, plain({f, c / task.groups, k, k}), true},
                   {Role::Bias, plain({f}), true}};
  if (hasScale)
    task.operands.push_back({Role::InputScale, plain({n, c, 1, 1}), false});
  if (hasResidual)
    task.operands.push_back(
        {Role::Extra, nhwc(n, f, oh, ow, residualBorder), false});
  task.operands.push_back({Role::Output, nhwc(n, f, oh, ow, outBorder), false});
  task.points = points;
  return task;
}

Task PoolCase::task() const {
  Task task;
  task.kind = kind;
  if (kind == TaskKind::GlobalPool) {
    task.operands = {{Role::Input, nhwc(n, c, h, w, 0), false},
                     {Role::Output, plain({n, c, 1, 1}), false}};
    return task;
  }
  Window window{k, stride, 1, pad, pad};
  task.windows = {window, window};
  task.countIncludePad = pad == 0;
  float value = kind == TaskKind::MaxPool ? -INFINITY : 0;
  task.operands = {
      {Role::Input, nhwc(n, c, h, w, pad, value), false},
      {Role::Output,
       nhwc(n, c, window.outputExtent(h), window.outputExtent(w), 0), false}};
  return task;
}

Task MatMulCase::task() const {
  Task task;
  task.kind = TaskKind::MatMul;
  task.transposedWeight = transposed;
  task.operands = {
      {Role::Input, plain({m, k}), false},
      {Role::Weight, transposed ? plain({n, k}) : plain({k, n}), true},
      {Role::Bias, plain({n}), true},
      {Role::Output, plain({m, n}), false}};
  task.points = points;
  return task;
}

Result<KernelCase> KernelCase::make(const Task &task, const Schedule &schedule,
                                    const Target &target) {
  TLM_TRY(Kernel compiled, lowerTask(task, schedule, target, "kernel"));
  TLM_TRY(LoadedKernel loaded, LoadedKernel::load(compiled));
  return KernelCase(std::move(loaded), OperandData(task, compiled, /*seed=*/7));
}
