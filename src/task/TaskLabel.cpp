//===- TaskLabel.cpp - short names for people -----------------------------===//

#include "task/Task.h"

namespace tlm {

static std::string joined(const std::vector<int64_t> &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? "x" : "") + std::to_string(values[i]);
  return text;
}

/// "3x3s2d2"; a stride of 1 is written, a dilation of 1 is not.
static std::string windowText(const std::vector<Window> &windows) {
  std::vector<int64_t> kernels, strides, dilations;
  for (const Window &window : windows) {
    kernels.push_back(window.kernel);
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
  }
  auto uniform = [](std::vector<int64_t> values) {
    if (values.size() == 2 && values[0] == values[1])
      values.pop_back();
    return values;
  };
  std::string text = joined(kernels) + 's' + joined(uniform(strides));
  if (uniform(dilations) != std::vector<int64_t>{1})
    text += 'd' + joined(uniform(dilations));
  return text;
}

/// "_56x56x64" of [1,64,56,56]; "_2x56x56x64" for a batch of 2; other ranks in
/// their own order.
static std::string imageText(const std::vector<int64_t> &dims) {
  if (dims.size() != 4)
    return '_' + joined(dims);
  std::string batch = dims[0] == 1 ? "" : std::to_string(dims[0]) + 'x';
  return '_' + batch + joined({dims[2], dims[3], dims[1]});
}

std::string Task::label() const {
  constexpr size_t kNamedPoints = 4;
  const std::vector<int64_t> &in = operands.front().type.dims;
  const std::vector<int64_t> &out = output().type.dims;
  std::string text(nameOf(kind));
  switch (kind) {
  case TaskKind::Conv:
    text += windowText(windows);
    if (groups != 1)
      text += 'g' + std::to_string(groups);
    text += imageText(in) + '_' + std::to_string(out[1]);
    break;
  case TaskKind::Depthwise:
    text = "dw" + windowText(windows) + imageText(in);
    break;
  case TaskKind::MaxPool:
  case TaskKind::AveragePool:
    text += windowText(windows) + imageText(in);
    break;
  case TaskKind::MatMul:
    text += '_' + joined({in[0], in[1], out[1]});
    break;
  case TaskKind::Concat:
    text += std::to_string(operands.size() - 1) + imageText(out);
    break;
  case TaskKind::Copy:
    text += imageText(in);
    text += operands.front().type.layout == Layout::Nhwc ? "_nhwc" : "_plain";
    text += output().type.layout == Layout::Nhwc ? "_nhwc" : "_plain";
    break;
  case TaskKind::BatchMatMul:
    text += '_' + joined({out[0], in[1], in[2], out[2]});
    if (transposedWeight)
      text += 't';
    break;
  case TaskKind::Compute:
    text += imageText(out);
    if (!computation.reductions.empty())
      text.append("_").append(nameOf(computation.combine)) +=
          '_' + joined(computation.reductions);
    text += '_' + std::to_string(computation.nodes.size());
    break;
  case TaskKind::Normalize:
    text.assign(nameOf(norm)).append("_norm") += imageText(in);
    break;
  case TaskKind::Attention: {
    const std::vector<int64_t> &k = operands[1].type.dims;
    text += '_' + joined({attention.heads, out[1], k[k.size() - 2],
                          out[2] / attention.heads});
    break;
  }
  case TaskKind::GlobalPool:
  case TaskKind::Pointwise:
  case TaskKind::Softmax:
    text += imageText(in);
    break;
  }
  if (find(Role::InputScale))
    text += "_scaled";
  for (size_t i = 0; i < points.size() && i < kNamedPoints; ++i)
    text.append("_").append(nameOf(points[i].op));
  if (points.size() > kNamedPoints)
    text += "_etc";
  return text;
}

} // namespace tlm
