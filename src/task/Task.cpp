//===- Task.cpp -----------------------------------------------------------===//

#include "task/Task.h"

#include "base/Check.h"
#include "base/Hash.h"
#include "base/NumberText.h"

#include <iterator>

namespace tlm {

std::string_view nameOf(TaskKind kind) {
  constexpr std::string_view kNames[] = {
      "conv",        "depthwise",    "matmul",    "max_pool", "average_pool",
      "global_pool", "pointwise",    "copy",      "concat",   "softmax",
      "compute",     "batch_matmul", "normalize", "attention"};
  TLM_CHECK(size_t(kind) < std::size(kNames)) << int(kind);
  return kNames[size_t(kind)];
}

std::string_view nameOf(Role role) {
  constexpr std::string_view kNames[] = {"input",       "weight", "bias",
                                         "input_scale", "extra",  "output"};
  TLM_CHECK(size_t(role) < std::size(kNames)) << int(role);
  return kNames[size_t(role)];
}

std::string_view nameOf(Norm norm) {
  return norm == Norm::Layer ? "layer" : "rms";
}

int Task::indexOf(Role role) const {
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].role == role)
      return int(i);
  return -1;
}

const Operand *Task::find(Role role) const {
  int index = indexOf(role);
  return index < 0 ? nullptr : &operands[size_t(index)];
}

static double countOfDims(const std::vector<int64_t> &dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= double(dim);
  return count;
}

double Task::flops() const {
  double results = countOfDims(output().type.dims);
  const Operand *input = find(Role::Input), *weight = find(Role::Weight);
  switch (kind) {
  case TaskKind::Conv:
  case TaskKind::Depthwise:
    return 2 * results * countOfDims(weight->type.dims) /
           double(weight->type.dims[0]);
  case TaskKind::MatMul:
    return 2 * results * double(input->type.dims[1]);
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    return results * double(windows[0].kernel * windows[1].kernel);
  case TaskKind::GlobalPool:
    return countOfDims(input->type.dims);
  case TaskKind::Softmax:
    return 5 * results; // max, subtract, exp, sum, divide
  case TaskKind::Compute: {
    // Every node once an element, or once a step of the reduction.
    double steps = countOfDims(computation.reductions);
    return results * steps * double(computation.nodes.size());
  }
  case TaskKind::BatchMatMul:
    return 2 * results * double(input->type.dims[2]);
  case TaskKind::Normalize:
    return 7 * results; // sum, subtract, square, subtract, scale, gamma, beta
  case TaskKind::Attention: {
    // Q K^T and P V; keys along dim 1 of [B,T,C] and dim 2 of [B,heads,T,D].
    const std::vector<int64_t> &k = operands[1].type.dims;
    double queries = double(input->type.elementCount());
    return 2 * (queries + results) * double(k[k.size() - 2]);
  }
  case TaskKind::Pointwise:
  case TaskKind::Copy:
  case TaskKind::Concat:
    return 0;
  }
  return 0;
}

double Task::bytes() const {
  double bytes = 0;
  for (const Operand &operand : operands)
    bytes +=
        countOfDims(operand.type.dims) * double(sizeOf(operand.type.dtype));
  return bytes;
}

std::string Task::text() const {
  std::string text = "tlm-task " + std::to_string(kTaskVersion) + '\n';
  text.append("kind ").append(nameOf(kind)) += '\n';
  for (const Operand &operand : operands) {
    text.append("operand ").append(nameOf(operand.role));
    text += (operand.isConstant ? " const " : " ") + operand.type.text() + '\n';
  }
  for (const Window &window : windows)
    text += "window " + std::to_string(window.kernel) + " stride " +
            std::to_string(window.stride) + " dilation " +
            std::to_string(window.dilation) + " pad " +
            std::to_string(window.padBegin) + ' ' +
            std::to_string(window.padEnd) + '\n';
  if (groups != 1)
    text += "groups " + std::to_string(groups) + '\n';
  if (transposedWeight)
    text += "transposed_weight\n";
  if (countIncludePad)
    text += "count_include_pad\n";
  for (const PointOp &point : points) {
    text.append("point ").append(nameOf(point.op));
    for (PointRef ref : point.inputs)
      text += ref.kind == PointRef::Kind::Accumulator ? " acc"
              : ref.kind == PointRef::Kind::Point
                  ? " point" + std::to_string(ref.index)
                  : " operand" + std::to_string(ref.index);
    if (point.a != 0)
      text += " a=" + floatText(point.a);
    if (point.b != 0)
      text += " b=" + floatText(point.b);
    text += '\n';
  }
  if (kind == TaskKind::Normalize)
    text.append("norm ").append(nameOf(norm)) +=
        " epsilon " + floatText(epsilon) + '\n';
  if (kind == TaskKind::Attention)
    text += "heads " + std::to_string(attention.heads) + " key_heads " +
            std::to_string(attention.keyHeads) + " scale " +
            floatText(attention.scale) + '\n';
  if (kind == TaskKind::Compute)
    text += computation.text();
  return text;
}

std::string Task::key() const { return hexText(hash64(text())); }

} // namespace tlm
