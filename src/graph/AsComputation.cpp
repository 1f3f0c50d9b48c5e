#include "graph/AsComputation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

using namespace tlm;

namespace {

using Builder = ComputationBuilder;
using Index = std::vector<Builder::Node>;

/// Builds the expression of one node.
class Writer {
public:
  Writer(const Graph &graph, const Node &node)
      : graph(graph), node(node), out(graph.value(node.outputs[0]).dims) {}

  std::optional<Computation> write();

private:
  const Dims &dimsOf(size_t input) const {
    return graph.value(node.inputs[input]).dims;
  }
  bool hasInput(size_t input) const {
    return input < node.inputs.size() && node.inputs[input] != kNoValue;
  }
  template <typename T>
  const T &attributes() const {
    return std::get<T>(node.attributes);
  }

  Builder::Node real(double value) { return b->real(value); }
  Builder::Node integer(int64_t value) { return b->integer(value); }
  Builder::Node op(Scalar scalar, std::vector<Builder::Node> arguments) {
    return b->op(scalar, std::move(arguments));
  }
  Builder::Node add(Builder::Node x, Builder::Node y) {
    return op(Scalar::Add, {x, y});
  }
  Builder::Node times(Builder::Node x, int64_t factor) {
    return op(Scalar::Mul, {x, integer(factor)});
  }
  Builder::Node load(size_t input, Index index) {
    return b->load(int32_t(input), graph.value(node.inputs[input]).dtype,
                   std::move(index));
  }
  /// Element of an input that broadcasts to the output.
  Builder::Node broadcast(size_t input) {
    const Dims &dims = dimsOf(input);
    Index index;
    for (size_t d = 0; d < dims.size(); ++d)
      index.push_back(dims[d] == 1 ? integer(0)
                                   : b->loop(out.size() - dims.size() + d));
    return load(input, std::move(index));
  }

  Builder::Node sigmoid(Builder::Node x);
  Builder::Node pointwise();
  Builder::Node unary(Builder::Node x);
  Builder::Node transpose();
  Builder::Node concat();
  Builder::Node pad();
  Builder::Node mean();
  Builder::Node matMul();
  Builder::Node convolution();
  Builder::Node pool();
  /// Where tap r of window i reads, and whether that is inside `extent`.
  Builder::Node position(const Window &window, size_t loop, size_t reduction);
  Builder::Node isInside(Builder::Node at, int64_t low, int64_t high);
  Builder::Node tapCount(const Window &window, size_t loop, int64_t low,
                         int64_t high);

  const Graph &graph;
  const Node &node;
  const Dims &out;
  std::optional<Builder> b;
};

Builder::Node Writer::sigmoid(Builder::Node x) {
  Builder::Node e = op(Scalar::Exp, {op(Scalar::Neg, {x})});
  return op(Scalar::Div, {real(1), add(real(1), e)});
}

Builder::Node Writer::unary(Builder::Node x) {
  ScalarAttributes s;
  if (const auto *found = std::get_if<ScalarAttributes>(&node.attributes))
    s = *found;
  auto clip = [&](Builder::Node value, double low, double high) {
    return op(Scalar::Min, {op(Scalar::Max, {value, real(low)}), real(high)});
  };
  auto mul = [&](Builder::Node a, Builder::Node c) {
    return op(Scalar::Mul, {a, c});
  };
  switch (node.op) {
  case Op::Relu:
    return op(Scalar::Max, {x, real(0)});
  case Op::Clip:
    return clip(x, s.a, s.b);
  case Op::Sigmoid:
    return sigmoid(x);
  case Op::Tanh:
    return op(Scalar::Tanh, {x});
  case Op::Swish:
    return mul(x, sigmoid(x));
  case Op::HardSigmoid:
    return clip(add(mul(x, real(s.a)), real(s.b)), 0, 1);
  case Op::HardSwish:
    return mul(x, clip(add(op(Scalar::Div, {x, real(6)}), real(0.5)), 0, 1));
  case Op::LeakyRelu:
    return b->select(op(Scalar::Less, {x, real(0)}), mul(x, real(s.a)), x);
  case Op::Elu:
    return b->select(
        op(Scalar::Less, {x, real(0)}),
        mul(op(Scalar::Sub, {op(Scalar::Exp, {x}), real(1)}), real(s.a)), x);
  case Op::Exp:
    return op(Scalar::Exp, {x});
  case Op::Sqrt:
    return op(Scalar::Sqrt, {x});
  case Op::Neg:
    return op(Scalar::Neg, {x});
  case Op::Abs:
    return op(Scalar::Abs, {x});
  case Op::Erf:
    return op(Scalar::Erf, {x});
  case Op::Gelu: {
    Builder::Node e = op(Scalar::Erf, {mul(x, real(1 / std::numbers::sqrt2))});
    return mul(mul(x, real(0.5)), add(e, real(1)));
  }
  case Op::GeluTanh: {
    Builder::Node cube = mul(mul(mul(x, x), x), real(0.044715));
    Builder::Node t =
        op(Scalar::Tanh,
           {mul(add(x, cube), real(std::sqrt(2 / std::numbers::pi)))});
    return mul(mul(x, real(0.5)), add(t, real(1)));
  }
  default:
    return -1;
  }
}

Builder::Node Writer::pointwise() {
  b.emplace(out);
  Builder::Node x = broadcast(0);
  auto fold = [&](Scalar scalar) {
    for (size_t i = 1; i < node.inputs.size(); ++i)
      x = op(scalar, {x, broadcast(i)});
    return x;
  };
  switch (node.op) {
  case Op::Add:
    return fold(Scalar::Add);
  case Op::Sub:
    return fold(Scalar::Sub);
  case Op::Mul:
    return fold(Scalar::Mul);
  case Op::Div:
    return fold(Scalar::Div);
  case Op::Max:
    return fold(Scalar::Max);
  case Op::Min:
    return fold(Scalar::Min);
  default:
    return unary(x);
  }
}

Builder::Node Writer::transpose() {
  b.emplace(out);
  const std::vector<int64_t> &axes = attributes<AxesAttributes>().axes;
  Index index(axes.size());
  for (size_t d = 0; d < axes.size(); ++d)
    index[size_t(axes[d])] = b->loop(d);
  return load(0, std::move(index));
}

Builder::Node Writer::concat() {
  b.emplace(out);
  size_t axis = size_t(attributes<AxesAttributes>().axes.at(0));
  Builder::Node result = -1;
  int64_t end = out[axis];
  // From the last input to the first: each takes what lies before the next.
  for (size_t i = node.inputs.size(); i-- > 0;) {
    int64_t extent = dimsOf(i)[axis], begin = end - extent;
    if (extent > 0) {
      Index index;
      for (size_t d = 0; d < out.size(); ++d)
        index.push_back(d == axis
                            ? op(Scalar::Sub, {b->loop(d), integer(begin)})
                            : b->loop(d));
      Builder::Node value = load(i, std::move(index));
      result = result < 0
                   ? value
                   : b->select(op(Scalar::Less, {b->loop(axis), integer(end)}),
                               value, result);
    }
    end = begin;
  }
  return result;
}

Builder::Node Writer::isInside(Builder::Node at, int64_t low, int64_t high) {
  return op(Scalar::And, {op(Scalar::LessEqual, {integer(low), at}),
                          op(Scalar::Less, {at, integer(high)})});
}

Builder::Node Writer::pad() {
  b.emplace(out);
  const auto &pads = attributes<PadAttributes>();
  Index index;
  Builder::Node inside = b->integer(1, DType::Bool);
  for (size_t d = 0; d < out.size(); ++d) {
    Builder::Node at = op(Scalar::Sub, {b->loop(d), integer(pads.begin[d])});
    inside = op(Scalar::And, {inside, isInside(at, 0, dimsOf(0)[d])});
    index.push_back(at);
  }
  return b->select(inside, load(0, std::move(index)), real(double(pads.value)));
}

Builder::Node Writer::mean() {
  std::vector<int64_t> axes = attributes<AxesAttributes>().axes;
  std::sort(axes.begin(), axes.end());
  const Dims &in = dimsOf(0);
  Dims reductions;
  for (int64_t axis : axes)
    reductions.push_back(in[size_t(axis)]);
  b.emplace(out, reductions);
  Index index;
  for (size_t d = 0; d < in.size(); ++d) {
    auto found = std::find(axes.begin(), axes.end(), int64_t(d));
    index.push_back(found == axes.end()
                        ? b->loop(d)
                        : b->reduction(size_t(found - axes.begin())));
  }
  Builder::Node sum = b->reduce(load(0, std::move(index)), Combine::Sum);
  return op(Scalar::Div, {sum, real(double(countOf(reductions)))});
}

Builder::Node Writer::matMul() {
  size_t rank = out.size();
  b.emplace(out, Dims{dimsOf(0).back()});
  auto operand = [&](size_t input, Builder::Node row, Builder::Node column) {
    const Dims &dims = dimsOf(input);
    Index index;
    for (size_t d = 0; d + 2 < dims.size(); ++d)
      index.push_back(dims[d] == 1 ? integer(0)
                                   : b->loop(rank - dims.size() + d));
    index.push_back(row);
    index.push_back(column);
    return load(input, std::move(index));
  };
  Builder::Node depth = b->reduction(0);
  Builder::Node x = operand(0, b->loop(rank - 2), depth);
  Builder::Node y = operand(1, depth, b->loop(rank - 1));
  return b->reduce(op(Scalar::Mul, {x, y}), Combine::Sum);
}

Builder::Node Writer::position(const Window &window, size_t loop,
                               size_t reduction) {
  Builder::Node at = add(times(b->loop(loop), window.stride),
                         times(b->reduction(reduction), window.dilation));
  return op(Scalar::Sub, {at, integer(window.padBegin)});
}

Builder::Node Writer::convolution() {
  const auto &conv = attributes<ConvAttributes>();
  const Dims &in = dimsOf(0), &weight = dimsOf(1);
  Dims reductions(weight.begin() + 1, weight.end());
  b.emplace(out, reductions);
  Builder::Node filter = b->loop(1), channel = b->reduction(0);
  Builder::Node group =
      op(Scalar::Div, {filter, integer(weight[0] / conv.groups)});
  Index x{b->loop(0), add(times(group, weight[1]), channel)};
  Index w{filter, channel};
  Builder::Node inside = b->integer(1, DType::Bool);
  for (size_t i = 0; i < conv.windows.size(); ++i) {
    Builder::Node at = position(conv.windows[i], 2 + i, 1 + i);
    inside = op(Scalar::And, {inside, isInside(at, 0, in[2 + i])});
    x.push_back(at);
    w.push_back(b->reduction(1 + i));
  }
  Builder::Node value = b->select(inside, load(0, std::move(x)), real(0));
  Builder::Node sum =
      b->reduce(op(Scalar::Mul, {value, load(1, std::move(w))}), Combine::Sum);
  return hasInput(2) ? add(sum, load(2, {filter})) : sum;
}

/// How many taps of a window lie in [low, high).
Builder::Node Writer::tapCount(const Window &window, size_t loop, int64_t low,
                               int64_t high) {
  Builder::Node first = op(Scalar::Sub, {times(b->loop(loop), window.stride),
                                         integer(window.padBegin)});
  Builder::Node zero = integer(0);
  // Rounded up and down; both are not negative, or the max below says 0.
  Builder::Node begin = op(
      Scalar::Div,
      {op(Scalar::Max,
          {op(Scalar::Sub, {integer(low + window.dilation - 1), first}), zero}),
       integer(window.dilation)});
  Builder::Node end =
      op(Scalar::Div,
         {op(Scalar::Max,
             {op(Scalar::Sub, {integer(high - 1 + window.dilation), first}),
              zero}),
          integer(window.dilation)});
  end = op(Scalar::Min, {end, integer(window.kernel)});
  return op(Scalar::Max, {op(Scalar::Sub, {end, begin}), zero});
}

Builder::Node Writer::pool() {
  const auto &pool = attributes<PoolAttributes>();
  const Dims &in = dimsOf(0);
  Dims reductions;
  for (const Window &window : pool.windows)
    reductions.push_back(window.kernel);
  b.emplace(out, reductions);
  Index x{b->loop(0), b->loop(1)};
  Builder::Node inside = b->integer(1, DType::Bool);
  for (size_t i = 0; i < pool.windows.size(); ++i) {
    Builder::Node at = position(pool.windows[i], 2 + i, i);
    inside = op(Scalar::And, {inside, isInside(at, 0, in[2 + i])});
    x.push_back(at);
  }
  bool isMax = node.op == Op::MaxPool;
  double outside = isMax ? -std::numeric_limits<double>::infinity() : 0;
  Builder::Node result =
      b->reduce(b->select(inside, load(0, std::move(x)), real(outside)),
                isMax ? Combine::Max : Combine::Sum);
  if (isMax)
    return result;
  Builder::Node count = integer(1);
  for (size_t i = 0; i < pool.windows.size(); ++i) {
    const Window &window = pool.windows[i];
    int64_t ceilPad = pool.ceilPad.empty() ? 0 : pool.ceilPad[i];
    int64_t before = pool.countIncludePad ? window.padBegin : 0;
    int64_t behind = pool.countIncludePad ? window.padEnd - ceilPad : 0;
    count = op(Scalar::Mul,
               {count, tapCount(window, 2 + i, -before, in[2 + i] + behind)});
  }
  return op(Scalar::Div, {result, b->cast(count, DType::F32)});
}

std::optional<Computation> Writer::write() {
  if (node.op == Op::Compute)
    return attributes<Computation>();
  Builder::Node result = -1;
  switch (node.op) {
  case Op::Transpose:
    result = transpose();
    break;
  case Op::Concat:
    result = concat();
    break;
  case Op::Pad:
    result = pad();
    break;
  case Op::ReduceMean:
    result = mean();
    break;
  case Op::MatMul:
    result = matMul();
    break;
  case Op::Conv:
    result = convolution();
    break;
  case Op::MaxPool:
  case Op::AveragePool:
    result = pool();
    break;
  default:
    if (isPointwise(node.op))
      result = pointwise();
    break;
  }
  if (result < 0)
    return std::nullopt;
  return b->finish(result);
}

} // namespace

std::optional<Computation> tlm::asComputation(const Graph &graph,
                                              const Node &node) {
  return Writer(graph, node).write();
}
