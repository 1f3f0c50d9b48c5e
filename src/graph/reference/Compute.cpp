// Walks the expression node by node over blocks of elements ("lanes"), so that
// the cost of looking at a node is shared by all of them. The lanes are output
// elements, or, where there are few of those, steps of the reduction. Numbers
// are held as Lanes.h says. Sums and products of floats run in double.

#include "base/IntegerArithmetic.h"
#include "graph/reference/Kernels.h"
#include "graph/reference/Lanes.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace tlm;

namespace {

using namespace tlm::reference;

/// With fewer outputs the lanes are steps of the reduction.
constexpr int64_t kFewOutputs = 64;

/// When a node is evaluated.
enum class Stage { Before, Inside, After };

/// One reduction of one output element on its way.
struct Accumulator {
  double real = 0;
  int64_t whole = 0;
  int64_t position = 0;
  bool empty = true;

  void add(Combine combine, DType dtype, double r, int64_t w, int64_t at) {
    if (empty) {
      empty = false;
      real = r;
      whole = w;
      position = at;
      return;
    }
    if (isFloat(dtype))
      addReal(combine, r, at);
    else
      addWhole(combine, dtype, w, at);
  }

private:
  void addReal(Combine combine, double value, int64_t at) {
    switch (combine) {
    case Combine::Sum:
      real += value;
      break;
    case Combine::Product:
      real *= value;
      break;
    case Combine::Min:
      real = smaller(real, value);
      break;
    case Combine::Max:
      real = larger(real, value);
      break;
    default:
      if (wins(combine, value < real, value == real)) {
        real = value;
        position = at;
      }
    }
  }

  void addWhole(Combine combine, DType dtype, int64_t value, int64_t at) {
    switch (combine) {
    case Combine::Sum:
      whole = integerOp(Scalar::Add, dtype, whole, value);
      break;
    case Combine::Product:
      whole = integerOp(Scalar::Mul, dtype, whole, value);
      break;
    case Combine::Min:
      whole = integerOp(Scalar::Min, dtype, whole, value);
      break;
    case Combine::Max:
      whole = integerOp(Scalar::Max, dtype, whole, value);
      break;
    case Combine::And:
      whole &= value;
      break;
    case Combine::Or:
      whole |= value;
      break;
    default:
      if (wins(combine, integerOp(Scalar::Less, dtype, value, whole) != 0,
               value == whole)) {
        whole = value;
        position = at;
      }
    }
  }

  static bool wins(Combine combine, bool less, bool equal) {
    bool last =
        combine == Combine::ArgMinLast || combine == Combine::ArgMaxLast;
    bool least =
        combine == Combine::ArgMinFirst || combine == Combine::ArgMinLast;
    return equal ? last : less == least;
  }
};

/// What no value at all reduces to.
Accumulator identityOf(Combine combine, DType dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (combine) {
  case Combine::Product:
    return {1.0, 1};
  case Combine::Min:
    return {infinity, highestInteger(dtype)};
  case Combine::Max:
    return {-infinity, lowestInteger(dtype)};
  case Combine::And:
    return {0, dtype == DType::Bool ? 1 : wrapInteger(dtype, -1)};
  default:
    return {};
  }
}

/// Evaluates output elements on one thread.
class Evaluator {
public:
  Evaluator(const Computation &computation, std::span<const TensorView> inputs,
            Tensor &y)
      : computation(computation), inputs(inputs), y(y),
        cells(computation.nodes.size()) {
    steps = countOf(computation.reductions);
    for (const TensorView &input : inputs)
      strides.push_back(stridesOf(*input.dims));
    parallelStrides = stridesOf(computation.loops);
    reductionStrides = stridesOf(computation.reductions);
    for (size_t i = 0; i < computation.nodes.size(); ++i)
      classify(i);
  }

  void run(int64_t begin, int64_t end) {
    if (reduce >= 0 && end - begin < kFewOutputs && steps >= kLanes) {
      for (int64_t e = begin; e < end; ++e)
        runAlongReduction(e);
      return;
    }
    for (int64_t e = begin; e < end; e += kLanes)
      runBlock(e, std::min(kLanes, end - e));
  }

private:
  static Dims stridesOf(const Dims &dims) {
    Dims strides(dims.size(), 1);
    for (size_t i = dims.size(); i-- > 1;)
      strides[i - 1] = strides[i] * dims[i];
    return strides;
  }

  bool isParallel(const ScalarNode &node) const {
    return size_t(node.index) < computation.loops.size();
  }

  void classify(size_t i) {
    const ScalarNode &node = computation.nodes[i];
    Stage stage = Stage::Before;
    if (node.op == Scalar::Loop && !isParallel(node))
      stage = Stage::Inside;
    for (int32_t argument : node.arguments)
      stage = std::max(stage, stages[size_t(argument)]);
    if (node.op == Scalar::Reduce) {
      stage = Stage::After;
      reduce = int32_t(i);
    }
    stages.push_back(stage);
    if (node.op == Scalar::Constant)
      fillConstant(node, cells[i]);
    else if (node.op != Scalar::Reduce)
      order[size_t(stage)].push_back(i);
  }

  static void fillConstant(const ScalarNode &node, Cells &to) {
    if (node.dtype == DType::F32)
      std::fill_n(as<float>(to), kLanes, float(node.real));
    else if (node.dtype == DType::F64)
      std::fill_n(as<double>(to), kLanes, node.real);
    else
      to.fill(node.integer);
  }

  /// Output elements [first, first + n).
  void runBlock(int64_t first, int64_t n) {
    fillLoops(true, first, n);
    evaluate(Stage::Before, n);
    if (reduce >= 0) {
      std::array<Accumulator, kLanes> sums;
      sums.fill(initial());
      for (int64_t step = 0; step < steps; ++step) {
        fillLoops(false, step, 0);
        evaluate(Stage::Inside, n);
        for (int64_t i = 0; i < n; ++i)
          combine(sums[size_t(i)], i, step);
      }
      for (int64_t i = 0; i < n; ++i)
        store(sums[size_t(i)], i);
      evaluate(Stage::After, n);
    }
    write(first, n);
  }

  /// One output element, the lanes run along its reduction.
  void runAlongReduction(int64_t element) {
    fillLoops(true, element, 0);
    evaluate(Stage::Before, kLanes);
    Accumulator sum = initial();
    for (int64_t step = 0; step < steps; step += kLanes) {
      int64_t n = std::min(kLanes, steps - step);
      fillLoops(false, step, n);
      evaluate(Stage::Inside, n);
      for (int64_t i = 0; i < n; ++i)
        combine(sum, i, step + i);
    }
    store(sum, 0);
    evaluate(Stage::After, 1);
    write(element, 1);
  }

  /// The loop indices of the positions from `first` on; n = 0: of this one
  /// position in all lanes.
  void fillLoops(bool parallel, int64_t first, int64_t n) {
    for (size_t i : order[size_t(parallel ? Stage::Before : Stage::Inside)]) {
      const ScalarNode &node = computation.nodes[i];
      if (node.op != Scalar::Loop)
        continue;
      size_t at =
          size_t(node.index) - (parallel ? 0 : computation.loops.size());
      int64_t extent =
          parallel ? computation.loops[at] : computation.reductions[at];
      int64_t stride = parallel ? parallelStrides[at] : reductionStrides[at];
      int64_t value = first / stride % extent, within = first % stride;
      if (n == 0)
        cells[i].fill(value);
      for (int64_t lane = 0; lane < n; ++lane) {
        cells[i][size_t(lane)] = value;
        if (++within < stride)
          continue;
        within = 0;
        value = value + 1 < extent ? value + 1 : 0;
      }
    }
  }

  void evaluate(Stage stage, int64_t n) {
    for (size_t i : order[size_t(stage)])
      evaluateNode(computation.nodes[i], cells[i], n);
  }

  void evaluateNode(const ScalarNode &node, Cells &out, int64_t n) {
    auto argument = [&](size_t i) -> const Cells & {
      return cells[size_t(
          node.arguments[std::min(i, node.arguments.size() - 1)])];
    };
    auto typeOf = [&](size_t i) {
      return computation.nodes[size_t(node.arguments[i])].dtype;
    };
    switch (node.op) {
    case Scalar::Loop:
      return;
    case Scalar::Load:
      return load(node, out, n);
    case Scalar::Cast:
      return castLanes(argument(0), typeOf(0), out, node.dtype, n);
    case Scalar::Select:
      return select(node, out, n);
    default:
      break;
    }
    applyLanes(node.op, typeOf(0), n, argument(0), argument(1), out);
  }

  void select(const ScalarNode &node, Cells &out, int64_t n) {
    const Cells &truth = cells[size_t(node.arguments[0])];
    auto pick = [&](auto type) {
      using T = decltype(type);
      const T *a = as<T>(cells[size_t(node.arguments[1])]);
      const T *b = as<T>(cells[size_t(node.arguments[2])]);
      for (int64_t i = 0; i < n; ++i)
        as<T>(out)[i] = truth[size_t(i)] ? a[i] : b[i];
    };
    if (node.dtype == DType::F32)
      pick(float());
    else
      pick(int64_t());
  }

  void load(const ScalarNode &node, Cells &out, int64_t n) {
    const TensorView &input = inputs[size_t(node.index)];
    if (input.count() == 0) {
      out.fill(0);
      return;
    }
    std::array<int64_t, kLanes> offsets;
    offsets.fill(0);
    for (size_t d = 0; d < node.arguments.size(); ++d) {
      const Cells &index = cells[size_t(node.arguments[d])];
      int64_t last = (*input.dims)[d] - 1;
      int64_t stride = strides[size_t(node.index)][d];
      for (int64_t i = 0; i < n; ++i)
        offsets[size_t(i)] +=
            std::clamp<int64_t>(index[size_t(i)], 0, last) * stride;
    }
    withElementType(node.dtype, [&](auto type) {
      using T = decltype(type);
      const T *from = reinterpret_cast<const T *>(input.raw());
      for (int64_t i = 0; i < n; ++i)
        as<Cell<T>>(out)[i] = Cell<T>(from[offsets[size_t(i)]]);
    });
    if (node.dtype == DType::Bool)
      for (int64_t i = 0; i < n; ++i)
        out[size_t(i)] = out[size_t(i)] != 0;
  }

  DType reducedType() const {
    const ScalarNode &node = computation.nodes[size_t(reduce)];
    return computation.nodes[size_t(node.arguments[0])].dtype;
  }

  Accumulator initial() const {
    Accumulator start = identityOf(computation.combine, reducedType());
    start.empty = true;
    return start;
  }

  void combine(Accumulator &sum, int64_t lane, int64_t step) {
    DType dtype = reducedType();
    const Cells &value =
        cells[size_t(computation.nodes[size_t(reduce)].arguments[0])];
    sum.add(computation.combine, dtype,
            dtype == DType::F32   ? double(as<float>(value)[lane])
            : dtype == DType::F64 ? as<double>(value)[lane]
                                  : 0.0,
            isFloat(dtype) ? 0 : value[size_t(lane)], step);
  }

  void store(const Accumulator &sum, int64_t lane) {
    Cells &out = cells[size_t(reduce)];
    DType dtype = computation.nodes[size_t(reduce)].dtype;
    if (computation.combine >= Combine::ArgMinFirst)
      out[size_t(lane)] = sum.position;
    else if (dtype == DType::F32)
      as<float>(out)[lane] = float(sum.real);
    else if (dtype == DType::F64)
      as<double>(out)[lane] = sum.real;
    else
      out[size_t(lane)] = sum.whole;
  }

  void write(int64_t first, int64_t n) {
    const Cells &result = cells[size_t(computation.result)];
    withElementType(y.dtype, [&](auto type) {
      using T = decltype(type);
      T *to = reinterpret_cast<T *>(y.raw()) + first;
      for (int64_t i = 0; i < n; ++i)
        to[i] = T(as<Cell<T>>(result)[i]);
    });
  }

  const Computation &computation;
  std::span<const TensorView> inputs;
  Tensor &y;
  std::vector<Cells> cells; ///< of each node
  std::vector<Stage> stages;
  std::array<std::vector<size_t>, 3> order;
  std::vector<Dims> strides; ///< of each operand
  Dims parallelStrides, reductionStrides;
  int64_t steps = 1;
  int32_t reduce = -1;
};

} // namespace

void reference::compute(Operands inputs, const Computation &computation,
                        Tensor &y, int threads) {
  // Whole blocks, so that the threads' ranges do not matter.
  int64_t count = countOf(y.dims), blocks = (count + kLanes - 1) / kLanes;
  bool few = count < kFewOutputs * threads && !computation.reductions.empty();
  int64_t unit = few ? 1 : kLanes;
  parallelFor(few ? count : blocks, threads, [&](int64_t begin, int64_t end) {
    Evaluator(computation, inputs, y)
        .run(begin * unit, std::min(end * unit, count));
  });
}
