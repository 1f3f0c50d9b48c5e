#include "lower/OperandData.h"

#include <algorithm>
#include <cmath>

using namespace tlm;

namespace {

/// Floats after which a large constant repeats.
constexpr int64_t kPeriod = 4093 * 1024;

/// xorshift64*: the same values on every machine. Four values a step.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  /// An integer in [-most, most].
  float next(int64_t most) {
    if (left == 0) {
      state ^= state >> 12;
      state ^= state << 25;
      state ^= state >> 27;
      bits = state * 0x2545F4914F6CDD1Dull;
      left = 4;
    }
    --left;
    auto value = int64_t((bits >> 48) * uint64_t(2 * most + 1) >> 16) - most;
    bits <<= 16;
    return float(value);
  }

private:
  uint64_t state, bits = 0;
  int left = 0;
};

/// Largest magnitudes, and the power of two that weights are multiplied by.
struct Ranges {
  int64_t input = 4, weight = 4, scale = 4;
  float weightUnit = 1;
};

/// Products of a sum; 0 for tasks without.
int64_t termsOf(const Task &task) {
  switch (task.kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
  case TaskKind::MatMul:
    return task.find(Role::Weight)->type.elementCount() /
           task.output().type.dims[1];
  case TaskKind::BatchMatMul:
    return task.operands.front().type.dims[2];
  default:
    return 0;
  }
}

/// Whether operand `index` takes the part of the weights in those sums.
bool isWeight(const Task &task, size_t index) {
  return task.kind == TaskKind::BatchMatMul
             ? index == 1
             : task.operands[index].role == Role::Weight;
}

Ranges rangesFor(const Task &task) {
  Ranges ranges;
  bool scaled = task.find(Role::InputScale) != nullptr;
  int64_t terms = termsOf(task);
  if (terms == 0)
    return ranges;
  // Units of a sum stay below 2^23, which leaves room for the bias.
  auto units = [&] {
    return terms * ranges.input * ranges.weight * (scaled ? ranges.scale : 1);
  };
  for (int64_t *range : {&ranges.scale, &ranges.weight, &ranges.input})
    while (units() > (1 << 23) && *range > 1)
      *range /= 2;
  auto deviation = [](int64_t most) {
    return std::sqrt(double(most * (most + 1)) / 3);
  };
  double typical = std::sqrt(double(terms)) * deviation(ranges.input) *
                   deviation(ranges.weight) *
                   (scaled ? deviation(ranges.scale) : 1);
  ranges.weightUnit =
      float(std::exp2(-std::max(0.0, std::round(std::log2(typical / 3)))));
  return ranges;
}

/// Calls body(offset) for every logical element.
template <typename Body>
void forEachElement(const BufferType &type, Body body) {
  if (type.dims.size() != 4) { // plain, without border
    for (int64_t i = 0, count = type.elementCount(); i < count; ++i)
      body(i);
    return;
  }
  const std::vector<int64_t> &dims = type.dims, strides = type.strides();
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t j = 0; j < dims[1]; ++j)
      for (int64_t k = 0; k < dims[2]; ++k) {
        int64_t row =
            type.origin() + i * strides[0] + j * strides[1] + k * strides[2];
        for (int64_t l = 0; l < dims[3]; ++l)
          body(row + l * strides[3]);
      }
}

void fillLanes(const BufferType &type, AlignedFloats &memory) {
  static constexpr float kGarbage[] = {3, -2, 0};
  std::vector<int64_t> strides = type.strides();
  for (int64_t n = 0; n < type.dims[0]; ++n)
    for (int64_t h = 0; h < type.dims[2]; ++h)
      for (int64_t w = 0; w < type.dims[3]; ++w)
        for (int64_t c = type.dims[1]; c < type.channelStride; ++c)
          memory[type.origin() + n * strides[0] + h * strides[2] +
                 w * strides[3] + c] = kGarbage[(w + c) % 3];
}

AlignedFloats fill(const Task &task, size_t index, const Ranges &ranges,
                   Random &random) {
  const Operand &operand = task.operands[index];
  const BufferType &type = operand.type;
  int64_t distinct = type.elementCount();
  std::optional<AlignedFloats> repeating;
  if (operand.isConstant && type.layout == Layout::Plain &&
      type.border.empty() && distinct > kPeriod)
    repeating = AlignedFloats::repeating(distinct, kPeriod);
  if (repeating)
    distinct = kPeriod;
  AlignedFloats memory = repeating ? std::move(*repeating)
                                   : AlignedFloats(distinct, type.border.value);
  if (operand.role == Role::Output)
    return memory;
  if (type.layout == Layout::Nhwc)
    fillLanes(type, memory);
  bool weight = isWeight(task, index);
  int64_t most = weight                             ? ranges.weight
                 : operand.role == Role::InputScale ? ranges.scale
                                                    : ranges.input;
  float unit = weight ? ranges.weightUnit : 1;
  bool nonZero = operand.role == Role::Extra;
  auto set = [&](int64_t offset) {
    float value = random.next(most);
    memory[offset] = nonZero && value == 0 ? 1 : value * unit;
  };
  if (repeating)
    for (int64_t i = 0; i < distinct; ++i)
      set(i);
  else
    forEachElement(type, set);
  return memory;
}

} // namespace

OperandData::OperandData(const Task &task, const Kernel &kernel,
                         uint64_t seed) {
  Random random(seed);
  Ranges ranges = rangesFor(task);
  packings.resize(task.operands.size());
  for (size_t i = 0; i < task.operands.size(); ++i) {
    sources.push_back(fill(task, i, ranges, random));
    plain.push_back(sources[i].data());
    packed.push_back(sources[i].data());
    if (!kernel.packings[i])
      continue;
    packings[i] = AlignedFloats(kernel.packings[i]->elementCount());
    pack(*kernel.packings[i], sources[i].data(), packings[i].data());
    packed[i] = packings[i].data();
  }
}

int64_t OperandData::sizeBytes(const Task &task, const Kernel &kernel) {
  int64_t bytes = kernel.scratchBytes + kernel.workerScratchBytes;
  for (size_t i = 0; i < task.operands.size(); ++i) {
    const Operand &operand = task.operands[i];
    bytes += operand.isConstant
                 ? std::min(operand.type.sizeBytes(), kPeriod * 4)
                 : operand.type.sizeBytes();
    if (kernel.packings[i])
      bytes += kernel.packings[i]->elementCount() * 4;
  }
  return bytes;
}
