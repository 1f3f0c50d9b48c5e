//===- PlanInterpreter.cpp ------------------------------------------------===//

#include "partition/PlanInterpreter.h"

#include "partition/Lifetimes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlm {

using Index = std::vector<int64_t>;

/// Calls body with every index of dims, in row-major order.
template <typename Body>
static void forEachIndex(const Index &dims, Body body) {
  Index index(dims.size(), 0);
  for (int64_t i = 0, count = countOf(dims); i < count; ++i) {
    body(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
}

PlanInterpreter::PlanInterpreter(const Plan &plan, const Graph &graph)
    : plan(plan), arena(size_t(plan.arenaBytes / 4), NAN),
      owned(plan.buffers.size()) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer &buffer = plan.buffers[i];
    if (buffer.aliasOf >= 0)
      continue;
    if (buffer.kind != BufferKind::Arena) {
      owned[i].assign(size_t(buffer.type.elementCount()), NAN);
      const Constant &constant = graph.value(buffer.value).constant;
      if (buffer.kind == BufferKind::Constant)
        std::copy_n(constant.as<float>(), owned[i].size(), owned[i].begin());
    } else if (!buffer.type.border.empty()) {
      std::fill_n(arena.begin() + buffer.offset / 4, buffer.type.elementCount(),
                  buffer.type.border.value);
    }
  }
  // What is inside the borders is nobody's yet.
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (!plan.buffers[i].type.border.empty()) {
      Memory memory = memoryOf(int32_t(i), plan.buffers[i].type);
      forEachIndex(memory.type->dims,
                   [&](const Index &index) { memory.at(index) = NAN; });
    }
}

float &PlanInterpreter::Memory::at(const Index &index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    if (type->dims[i] != 1 || index[i] < 0)
      offset += index[i] * strides[i];
  return base[offset];
}

PlanInterpreter::Memory PlanInterpreter::memoryOf(int32_t index,
                                                  const BufferType &type) {
  int32_t root = rootOf(plan, index);
  float *data = plan.buffers[size_t(root)].kind == BufferKind::Arena
                    ? arena.data() + plan.buffers[size_t(root)].offset / 4
                    : owned[size_t(root)].data();
  return {&type, type.strides(), data + type.origin()};
}

std::vector<Tensor> PlanInterpreter::run(const std::vector<Tensor> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    owned[size_t(plan.inputs[i])] = inputs[i].data;
  for (const PlanStep &step : plan.steps)
    runStep(step);
  std::vector<Tensor> outputs;
  for (int32_t index : plan.outputs)
    outputs.push_back(
        {plan.buffers[size_t(index)].type.dims, owned[size_t(index)]});
  return outputs;
}

static float applyPoint(const PointOp &point, const std::vector<float> &x) {
  float first = x[0];
  switch (point.op) {
  case Op::Add:
    return first + x[1];
  case Op::Sub:
    return first - x[1];
  case Op::Mul:
    return first * x[1];
  case Op::Div:
    return first / x[1];
  case Op::Relu:
    return std::max(first, 0.0f);
  case Op::Clip:
    return std::min(std::max(first, point.a), point.b);
  case Op::Sigmoid:
    return 1 / (1 + std::exp(-first));
  case Op::Tanh:
    return std::tanh(first);
  case Op::Swish:
    return first / (1 + std::exp(-first));
  case Op::Exp:
    return std::exp(first);
  case Op::Neg:
    return -first;
  case Op::Max:
    return *std::max_element(x.begin(), x.end());
  case Op::Min:
    return *std::min_element(x.begin(), x.end());
  default:
    TLM_CHECK(false) << "not in these tests: " << nameOf(point.op);
    return 0;
  }
}

void PlanInterpreter::runStep(const PlanStep &step) {
  const Task &task = plan.tasks[size_t(step.task)];
  operands.clear();
  for (size_t i = 0; i < step.operands.size(); ++i)
    operands.push_back(memoryOf(step.operands[i], task.operands[i].type));
  // The lanes behind C hold something finite.
  const BufferType &type = task.output().type;
  if (type.layout == Layout::Nhwc)
    forEachIndex({type.dims[0], type.channelStride, type.dims[2], type.dims[3]},
                 [&](const Index &index) {
                   float *lane = operands.back().base;
                   for (size_t i = 0; i < 4; ++i)
                     lane += index[i] * operands.back().strides[i];
                   *lane = -77777;
                 });
  forEachIndex(type.dims, [&](const Index &out) {
    float accumulator = accumulate(task, out);
    std::vector<float> results;
    for (const PointOp &point : task.points) {
      std::vector<float> arguments;
      for (PointRef ref : point.inputs)
        arguments.push_back(ref.kind == PointRef::Kind::Accumulator
                                ? accumulator
                            : ref.kind == PointRef::Kind::Point
                                ? results[size_t(ref.index)]
                                : operands[size_t(ref.index)].at(out));
      results.push_back(applyPoint(point, arguments));
    }
    operands.back().at(out) = results.empty() ? accumulator : results.back();
  });
}

float PlanInterpreter::accumulate(const Task &task, const Index &out) const {
  const Memory &x = operands.front();
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return window(task, out);
  case TaskKind::MatMul: {
    const Memory &w = operands[1];
    int bias = task.indexOf(Role::Bias);
    float sum = bias < 0 ? 0 : operands[size_t(bias)].at({out[1]});
    for (int64_t k = 0; k < x.type->dims[1]; ++k)
      sum += x.at({out[0], k}) *
             (task.transposedWeight ? w.at({out[1], k}) : w.at({k, out[1]}));
    return sum;
  }
  case TaskKind::GlobalPool: {
    int64_t height = x.type->dims[2], width = x.type->dims[3];
    float sum = 0;
    for (int64_t h = 0; h < height; ++h)
      for (int64_t w = 0; w < width; ++w)
        sum += x.at({out[0], out[1], h, w});
    return sum / float(height * width);
  }
  case TaskKind::Pointwise:
  case TaskKind::Copy:
    return x.at(out);
  case TaskKind::Concat: {
    Index index = out;
    size_t input = 0;
    while (index[1] >= operands[input].type->dims[1])
      index[1] -= operands[input++].type->dims[1];
    return operands[input].at(index);
  }
  case TaskKind::Softmax: {
    Index index = out;
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    for (index.back() = 0; index.back() < x.type->dims.back(); ++index.back())
      largest = std::max(largest, x.at(index));
    for (index.back() = 0; index.back() < x.type->dims.back(); ++index.back())
      sum += std::exp(x.at(index) - largest);
    return std::exp(x.at(out) - largest) / sum;
  }
  }
  return NAN;
}

float PlanInterpreter::window(const Task &task, const Index &out) const {
  const Memory &x = operands.front();
  const Window &high = task.windows[0], &wide = task.windows[1];
  bool contracts =
      task.kind == TaskKind::Conv || task.kind == TaskKind::Depthwise;
  int bias = task.indexOf(Role::Bias), scale = task.indexOf(Role::InputScale);
  int64_t perGroup = contracts ? operands[1].type->dims[1] : 1;
  int64_t first =
      contracts ? out[1] / (task.output().type.dims[1] / task.groups) * perGroup
                : out[1];
  float sum = bias < 0 ? 0 : operands[size_t(bias)].at({out[1]});
  float largest = -std::numeric_limits<float>::infinity();
  int64_t inside = 0;
  for (int64_t kh = 0; kh < high.kernel; ++kh)
    for (int64_t kw = 0; kw < wide.kernel; ++kw)
      for (int64_t c = 0; c < perGroup; ++c) {
        int64_t h = out[2] * high.stride - high.padBegin + kh * high.dilation;
        int64_t w = out[3] * wide.stride - wide.padBegin + kw * wide.dilation;
        inside +=
            h >= 0 && h < x.type->dims[2] && w >= 0 && w < x.type->dims[3];
        // Not at(): a window may leave an image of extent 1.
        float value =
            x.base[out[0] * x.strides[0] + (first + c) * x.strides[1] +
                   h * x.strides[2] + w * x.strides[3]];
        if (scale >= 0)
          value *= operands[size_t(scale)].at({out[0], first + c, 0, 0});
        largest = std::isnan(value) ? value : std::max(largest, value);
        sum += contracts ? value * operands[1].at({out[1], c, kh, kw}) : value;
      }
  if (contracts)
    return sum;
  if (task.kind == TaskKind::MaxPool)
    return largest;
  return sum / float(task.countIncludePad ? high.kernel * wide.kernel : inside);
}

} // namespace tlm
