#include "graph/reference/Kernels.h"

#include <algorithm>
#include <limits>
#include <thread>

using namespace tlm;
using namespace tlm::reference;

void reference::parallelFor(int64_t count, int threads,
                            const std::function<void(int64_t, int64_t)> &body) {
  int64_t workers = std::min<int64_t>(threads, count);
  if (workers <= 1) {
    if (count > 0)
      body(0, count);
    return;
  }
  std::vector<std::thread> team;
  for (int64_t i = 1; i < workers; ++i)
    team.emplace_back(
        [&, i] { body(count * i / workers, count * (i + 1) / workers); });
  body(0, count / workers);
  for (std::thread &thread : team)
    thread.join();
}

Tensor reference::evaluate(Op op, const OpAttributes &attributes,
                           Operands inputs, const Dims &dims, int threads,
                           DType dtype) {
  Tensor y = Tensor::make(dtype, dims);
  if (y.sizeBytes() == 0)
    return y;
  switch (op) {
  case Op::Compute:
    compute(inputs, std::get<Computation>(attributes), y, threads);
    break;
  case Op::Conv:
    conv(inputs, std::get<ConvAttributes>(attributes), y, threads);
    break;
  case Op::MatMul:
    matMul(inputs, y, threads);
    break;
  case Op::MaxPool:
    maxPool(inputs[0], std::get<PoolAttributes>(attributes), y, threads);
    break;
  case Op::AveragePool:
    averagePool(inputs[0], std::get<PoolAttributes>(attributes), y, threads);
    break;
  case Op::ReduceMean:
    reduceMean(inputs[0], std::get<AxesAttributes>(attributes), y);
    break;
  case Op::Softmax:
    softmax(inputs[0], std::get<AxesAttributes>(attributes), y);
    break;
  case Op::LayerNorm:
  case Op::RmsNorm:
    normalize(op, inputs, std::get<NormAttributes>(attributes), y);
    break;
  case Op::Attention:
    attention(inputs, std::get<AttentionAttributes>(attributes), y, threads);
    break;
  case Op::Reshape:
    std::copy_n(inputs[0].raw(), y.sizeBytes(), y.raw());
    break;
  case Op::Transpose:
    transpose(inputs[0], std::get<AxesAttributes>(attributes), y);
    break;
  case Op::Concat:
    concat(inputs, std::get<AxesAttributes>(attributes), y);
    break;
  case Op::Pad:
    pad(inputs[0], std::get<PadAttributes>(attributes), y);
    break;
  default: {
    auto *scalars = std::get_if<ScalarAttributes>(&attributes);
    pointwise(op, inputs, scalars ? *scalars : ScalarAttributes{}, y, threads);
  }
  }
  return y;
}

int64_t reference::costOf(Op op, const OpAttributes &attributes,
                          std::span<const Dims> inputs, const Dims &dims) {
  double cost = double(countOf(dims));
  switch (op) {
  case Op::Compute: {
    const Computation &computation = std::get<Computation>(attributes);
    cost *= 3 * double(computation.nodes.size());
    for (int64_t extent : computation.reductions)
      cost *= double(extent);
    break;
  }
  case Op::MatMul:
    cost *= 0.5 * double(inputs[0].back());
    break;
  case Op::Conv:
    for (size_t i = 1; i < inputs[1].size(); ++i)
      cost *= double(inputs[1][i]);
    break;
  case Op::MaxPool:
  case Op::AveragePool:
    for (const Window &window : std::get<PoolAttributes>(attributes).windows)
      cost *= double(window.kernel);
    cost *= 3;
    break;
  default:
    for (const Dims &input : inputs)
      cost = std::max(cost, double(countOf(input)));
    // Most compute an element's place dim by dim.
    cost *= std::max(10.0, 4 * double(1 + dims.size()));
  }
  return cost < 9e18 ? int64_t(cost) : std::numeric_limits<int64_t>::max();
}
