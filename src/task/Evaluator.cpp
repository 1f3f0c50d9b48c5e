//===- Evaluator.cpp ------------------------------------------------------===//

#include "task/Evaluator.h"

#include "base/Check.h"
#include "base/Pointwise.h"
#include "task/ComputationPoint.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlm {

float PointTrace::argument(PointRef ref) const {
  switch (ref.kind) {
  case PointRef::Kind::Accumulator:
    return accumulator;
  case PointRef::Kind::Point:
    return points[size_t(ref.index)];
  case PointRef::Kind::Operand:
    return extras[size_t(ref.index)];
  }
  return accumulator;
}

bool canEvaluate(const Task &task) {
  return std::all_of(
      task.operands.begin(), task.operands.end(),
      [](const Operand &operand) { return operand.type.dtype == DType::F32; });
}

Evaluator::Evaluator(const Task &task,
                     const std::vector<const float *> &buffers)
    : task(task), weight(task.indexOf(Role::Weight)),
      bias(task.indexOf(Role::Bias)), scale(task.indexOf(Role::InputScale)) {
  TLM_CHECK(canEvaluate(task) && buffers.size() == task.operands.size())
      << task.text();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferType &type = task.operands[i].type;
    operands.push_back({&type, type.strides(),
                        buffers[i] ? buffers[i] + type.origin() : nullptr});
  }
}

float Evaluator::Memory::at(const Index &index) const {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    if (type->dims[i] != 1)
      offset += index[i] * strides[i];
  return base[offset];
}

PointTrace Evaluator::trace(const Index &index) const {
  PointTrace trace;
  trace.accumulator = float(accumulate(index));
  trace.extras.assign(operands.size(), 0);
  bool isMask = task.kind == TaskKind::Attention;
  for (size_t i = 0; i < operands.size(); ++i)
    if (task.operands[i].role == Role::Extra && !isMask)
      trace.extras[i] = operands[i].at(index);
  for (const PointOp &point : task.points) {
    std::vector<float> arguments;
    for (PointRef ref : point.inputs)
      arguments.push_back(trace.argument(ref));
    trace.points.push_back(
        applyPointwise(point.op, arguments, {point.a, point.b}));
  }
  return trace;
}

double Evaluator::accumulate(const Index &out) const {
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
    return convolve(out);
  case TaskKind::MatMul:
    return multiply(out);
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return pool(out);
  case TaskKind::GlobalPool:
    return globalMean(out);
  case TaskKind::Pointwise:
  case TaskKind::Copy:
    return operands[0].at(out);
  case TaskKind::Concat:
    return concatenated(out);
  case TaskKind::Softmax:
    return softmax(out);
  case TaskKind::BatchMatMul:
    return multiplyBatch(out);
  case TaskKind::Normalize:
    return normalize(out);
  case TaskKind::Attention:
    return attend(out);
  case TaskKind::Compute:
    return compute(out);
  }
  return NAN;
}

double Evaluator::compute(const Index &out) const {
  std::vector<TypedBuffer> buffers;
  for (const Memory &operand : operands)
    if (&operand != &operands.back())
      buffers.push_back(
          {operand.type, reinterpret_cast<const std::byte *>(
                             operand.base - operand.type->origin())});
  return ComputationPoint(task.computation, std::move(buffers)).at(out).real;
}

int64_t Evaluator::row(const Index &out, int64_t kh) const {
  const Window &window = task.windows[0];
  return out[2] * window.stride - window.padBegin + kh * window.dilation;
}

int64_t Evaluator::column(const Index &out, int64_t kw) const {
  const Window &window = task.windows[1];
  return out[3] * window.stride - window.padBegin + kw * window.dilation;
}

double Evaluator::biasAt(int64_t channel) const {
  return bias < 0 ? 0 : operands[size_t(bias)].at({channel});
}

double Evaluator::convolve(const Index &out) const {
  const Memory &x = operands[0], &w = operands[size_t(weight)];
  int64_t perGroup = w.type->dims[1];
  int64_t filtersPerGroup = w.type->dims[0] / task.groups;
  int64_t first = out[1] / filtersPerGroup * perGroup;
  double sum = biasAt(out[1]);
  for (int64_t kh = 0; kh < w.type->dims[2]; ++kh)
    for (int64_t kw = 0; kw < w.type->dims[3]; ++kw) {
      const float *from = x.base + out[0] * x.strides[0] +
                          first * x.strides[1] + row(out, kh) * x.strides[2] +
                          column(out, kw) * x.strides[3];
      const float *tap = w.base + out[1] * w.strides[0] + kh * w.strides[2] +
                         kw * w.strides[3];
      for (int64_t c = 0; c < perGroup; ++c) {
        double value = from[c * x.strides[1]];
        if (scale >= 0)
          value *= operands[size_t(scale)].at({out[0], first + c, 0, 0});
        sum += value * tap[c * w.strides[1]];
      }
    }
  return sum;
}

double Evaluator::multiply(const Index &out) const {
  const Memory &x = operands[0], &w = operands[size_t(weight)];
  int64_t along = task.transposedWeight ? w.strides[1] : w.strides[0];
  int64_t across = task.transposedWeight ? w.strides[0] : w.strides[1];
  double sum = biasAt(out[1]);
  for (int64_t k = 0; k < x.type->dims[1]; ++k)
    sum += double(x.base[out[0] * x.strides[0] + k * x.strides[1]]) *
           double(w.base[k * along + out[1] * across]);
  return sum;
}

double Evaluator::pool(const Index &out) const {
  const Memory &x = operands[0];
  int64_t height = task.windows[0].kernel, width = task.windows[1].kernel;
  bool isMax = task.kind == TaskKind::MaxPool;
  double result = isMax ? -std::numeric_limits<double>::infinity() : 0;
  int64_t inside = 0;
  for (int64_t kh = 0; kh < height; ++kh)
    for (int64_t kw = 0; kw < width; ++kw) {
      int64_t h = row(out, kh), w = column(out, kw);
      inside += h >= 0 && h < x.type->dims[2] && w >= 0 && w < x.type->dims[3];
      double value = x.base[out[0] * x.strides[0] + out[1] * x.strides[1] +
                            h * x.strides[2] + w * x.strides[3]];
      if (!isMax)
        result += value;
      else if (!(value <= result) && !std::isnan(result))
        result = value; // larger, or NaN
    }
  if (isMax)
    return result;
  return result / double(task.countIncludePad ? height * width : inside);
}

double Evaluator::globalMean(const Index &out) const {
  const Memory &x = operands[0];
  int64_t height = x.type->dims[2], width = x.type->dims[3];
  double sum = 0;
  for (int64_t h = 0; h < height; ++h)
    for (int64_t w = 0; w < width; ++w)
      sum += x.base[out[0] * x.strides[0] + out[1] * x.strides[1] +
                    h * x.strides[2] + w * x.strides[3]];
  return sum / double(height * width);
}

double Evaluator::softmax(const Index &out) const {
  const Memory &x = operands[0];
  Index index = out;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (index.back() = 0; index.back() < x.type->dims.back(); ++index.back())
    largest = std::max(largest, double(x.at(index)));
  for (index.back() = 0; index.back() < x.type->dims.back(); ++index.back())
    sum += std::exp(x.at(index) - largest);
  return std::exp(x.at(out) - largest) / sum;
}

double Evaluator::multiplyBatch(const Index &out) const {
  const Memory &x = operands[0], &y = operands[1];
  double sum = 0;
  for (int64_t k = 0; k < x.type->dims[2]; ++k) {
    Index at = task.transposedWeight ? Index{out[0], out[2], k}
                                     : Index{out[0], k, out[2]};
    sum += double(x.at({out[0], out[1], k})) * double(y.at(at));
  }
  return sum;
}

double Evaluator::normalize(const Index &out) const {
  const Memory &x = operands[0];
  int64_t count = x.type->dims.back();
  Index index = out;
  double sum = 0, squares = 0;
  for (index.back() = 0; index.back() < count; ++index.back())
    sum += x.at(index);
  double mean = task.norm == Norm::Layer ? sum / double(count) : 0;
  for (index.back() = 0; index.back() < count; ++index.back())
    squares += (x.at(index) - mean) * (x.at(index) - mean);
  double result = (x.at(out) - mean) /
                  std::sqrt(squares / double(count) + double(task.epsilon));
  if (weight >= 0)
    result *= operands[size_t(weight)].at({out.back()});
  return result + biasAt(out.back());
}

double Evaluator::attend(const Index &out) const {
  const Memory &q = operands[0], &k = operands[1], &v = operands[2];
  int mask = task.indexOf(Role::Extra);
  const AttentionShape &shape = task.attention;
  int64_t depth = task.output().type.dims[2] / shape.heads;
  int64_t head = out[2] / depth, lane = out[2] % depth;
  int64_t keyHead = head / (shape.heads / shape.keyHeads);
  // Element d of token t, for both forms: [B,S,heads*D] and [B,heads,S,D].
  auto at = [&](const Memory &x, int64_t heads, int64_t h, int64_t t,
                int64_t d) {
    return double(x.type->dims.size() == 4
                      ? x.at({out[0], h, t, d})
                      : x.at({out[0], t, h * (x.type->dims[2] / heads) + d}));
  };
  bool headFirst = q.type->dims.size() == 4;
  int64_t width = headFirst ? q.type->dims[3] : q.type->dims[2] / shape.heads;
  int64_t tokens = k.type->dims[k.type->dims.size() == 4 ? 2 : 1];
  std::vector<double> scores(static_cast<size_t>(tokens));
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t t = 0; t < tokens; ++t) {
    double &score = scores[size_t(t)];
    for (int64_t d = 0; d < width; ++d)
      score += at(q, shape.heads, head, out[1], d) *
               at(k, shape.keyHeads, keyHead, t, d);
    score *= double(shape.scale);
    if (mask >= 0)
      score += operands[size_t(mask)].at({out[0], head, out[1], t});
    largest = std::max(largest, score);
  }
  double sum = 0, weighted = 0;
  for (int64_t t = 0; t < tokens; ++t) {
    double share = std::exp(scores[size_t(t)] - largest);
    sum += share;
    weighted += share * at(v, shape.keyHeads, keyHead, t, lane);
  }
  return weighted / sum;
}

float Evaluator::concatenated(Index index) const {
  size_t input = 0;
  while (index[1] >= operands[input].type->dims[1])
    index[1] -= operands[input++].type->dims[1];
  return operands[input].at(index);
}

float evaluatePoint(const Task &task,
                    const std::vector<const float *> &operands,
                    const std::vector<int64_t> &outputIndex) {
  return Evaluator(task, operands).at(outputIndex);
}

} // namespace tlm
