// Random computations, compiled and compared with their scalar meaning.

#include "lower/KernelCheck.h"
#include "lower/LoadedKernel.h"
#include "space/DefaultSchedule.h"
#include "task/ComputationPoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace tlm;

namespace {

using Node = ComputationBuilder::Node;

constexpr DType kTypes[] = {DType::F32, DType::F32, DType::F64, DType::I8,
                            DType::U8,  DType::I16, DType::U16, DType::I32,
                            DType::U32, DType::I64, DType::I64, DType::U64,
                            DType::Bool};

/// Small whole numbers, on which float arithmetic is exact in any order, and a
/// few values that are special.
void fillElement(std::byte *to, DType dtype, std::mt19937 &random) {
  int whole = int(random() % 17) - 8;
  bool special = random() % 24 == 0;
  auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
  switch (dtype) {
  case DType::F32:
    return put(special ? random() % 2 ? NAN : 1e12f : float(whole));
  case DType::F64:
    return put(special ? random() % 2 ? double(NAN) : -1e300 : double(whole));
  case DType::Bool:
    return put(uint8_t(random() % 2));
  default:
    // The lowest value, or all bits.
    int64_t bits =
        special ? random() % 2 ? -1
                               : int64_t(uint64_t(1) << (8 * sizeOf(dtype) - 1))
                : whole;
    std::memcpy(to, &bits, sizeOf(dtype));
  }
}

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {
    loops = randomDims(pick(4));
    if (pick(3) == 0)
      reductions = randomDims(1 + pick(2));
    for (int i = 0, count = pick(3) + 1; i < count; ++i) {
      BufferType type{.dtype = kTypes[pick(std::size(kTypes))],
                      .dims = randomDims(pick(4))};
      types.push_back(type);
    }
    builder.emplace(loops, reductions);
  }

  Task task() {
    Task task;
    task.kind = TaskKind::Compute;
    DType dtype = kTypes[pick(std::size(kTypes))];
    Node result;
    if (!reductions.empty()) {
      canReduce = true;
      DType inner = kTypes[pick(std::size(kTypes))];
      Node reduced = builder->reduce(value(inner, 3), combineFor(inner));
      canReduce = false;
      result = builder->cast(reduced, dtype);
      if (dtype != DType::Bool && pick(2))
        result = builder->op(Scalar::Add, {result, value(dtype, 2)});
    } else {
      result = value(dtype, 4);
    }
    if (isFloat(dtype) && pick(2)) {
      isExact = false;
      constexpr Scalar kMath[] = {Scalar::Exp,  Scalar::Tanh,  Scalar::Erf,
                                  Scalar::Log,  Scalar::Sin,   Scalar::Atan,
                                  Scalar::Sqrt, Scalar::Asinh, Scalar::Cosh,
                                  Scalar::Round};
      result = builder->op(kMath[pick(std::size(kMath))], {result});
    }
    task.computation = builder->finish(result);
    for (const BufferType &type : types)
      task.operands.push_back({Role::Input, type});
    BufferType out{.dtype = dtype, .dims = loops};
    if (dtype == DType::F32 && loops.size() == 4 && pick(2)) {
      out.layout = Layout::Nhwc;
      out.channelStride = (loops[1] + 15) / 16 * 16;
    }
    task.operands.push_back({Role::Output, out});
    return task;
  }

  bool isExact = true;
  std::mt19937 random;

private:
  int pick(size_t count) { return int(random() % count); }
  std::vector<int64_t> randomDims(int rank) {
    std::vector<int64_t> dims;
    for (int i = 0; i < rank; ++i)
      dims.push_back(pick(3) == 0 ? 1 + pick(40) : 1 + pick(5));
    return dims;
  }

  Combine combineFor(DType dtype) {
    if (dtype == DType::Bool)
      return pick(2) ? Combine::And : Combine::Or;
    constexpr Combine kCombines[] = {Combine::Sum,         Combine::Sum,
                                     Combine::Min,         Combine::Max,
                                     Combine::ArgMinFirst, Combine::ArgMaxLast};
    // Which of several NaN is the extreme one, nobody says.
    size_t count = isFloat(dtype) ? 4 : 6;
    return kCombines[pick(count)];
  }

  /// An i64: a loop, a sum of them, or one made of data; often outside.
  Node index(int depth) {
    size_t parallel = loops.size();
    size_t all = parallel + (canReduce ? reductions.size() : 0);
    if (depth == 0 || pick(3) == 0) {
      if (all == 0 || pick(5) == 0)
        return builder->integer(pick(5) - 1);
      size_t loop = size_t(pick(all));
      return loop < parallel ? builder->loop(loop)
                             : builder->reduction(loop - parallel);
    }
    if (pick(8) == 0)
      return value(DType::I64, 1);
    Node a = index(depth - 1);
    switch (pick(6)) {
    case 0:
      return builder->op(Scalar::Add, {a, index(depth - 1)});
    case 1:
      return builder->op(Scalar::Sub, {a, index(depth - 1)});
    case 2:
      return builder->op(Scalar::Mul, {a, builder->integer(1 + pick(3))});
    case 3:
      return builder->op(Scalar::Div, {a, builder->integer(1 + pick(4))});
    case 4:
      return builder->op(Scalar::FloorMod, {a, builder->integer(1 + pick(4))});
    default:
      return builder->op(Scalar::Max, {a, builder->integer(0)});
    }
  }

  Node condition(int depth) {
    switch (pick(4)) {
    case 0:
      return builder->op(Scalar::Less, {index(2), builder->integer(pick(6))});
    case 1:
      return builder->op(
          Scalar::And,
          {builder->op(Scalar::LessEqual, {builder->integer(1), index(1)}),
           builder->op(Scalar::Less, {index(1), builder->integer(5)})});
    default: {
      DType dtype = kTypes[pick(std::size(kTypes))];
      Node a = value(dtype, depth), b = value(dtype, depth);
      return builder->op(pick(2) ? Scalar::Less : Scalar::Equal, {a, b});
    }
    }
  }

  Node load(size_t operand) {
    std::vector<Node> indices;
    for (size_t d = 0; d < types[operand].dims.size(); ++d)
      indices.push_back(index(2));
    return builder->load(int32_t(operand), types[operand].dtype, indices);
  }

  Node value(DType dtype, int depth) {
    if (depth == 0 || pick(4) == 0) {
      if (pick(4) == 0)
        return builder->number(pick(9) - 4, dtype);
      return builder->cast(load(size_t(pick(types.size()))), dtype);
    }
    if (pick(5) == 0)
      return builder->select(condition(1), value(dtype, depth - 1),
                             value(dtype, depth - 1));
    Node a = value(dtype, depth - 1), b = value(dtype, depth - 1);
    if (dtype == DType::Bool) {
      constexpr Scalar kOps[] = {Scalar::And, Scalar::Or, Scalar::Xor};
      return pick(4) == 0 ? builder->op(Scalar::Not, {a})
                          : builder->op(kOps[pick(3)], {a, b});
    }
    constexpr Scalar kOps[] = {
        Scalar::Add,      Scalar::Sub,       Scalar::Mul,
        Scalar::Min,      Scalar::Max,       Scalar::Neg,
        Scalar::Abs,      Scalar::Div,       Scalar::Remainder,
        Scalar::FloorMod, Scalar::ShiftLeft, Scalar::ShiftRight,
        Scalar::Xor,      Scalar::Pow};
    Scalar op = kOps[pick(isFloat(dtype) ? 7 : std::size(kOps))];
    if (op == Scalar::Neg || op == Scalar::Abs)
      return builder->op(op, {a});
    return builder->op(op, {a, b});
  }

  std::vector<int64_t> loops, reductions;
  std::vector<BufferType> types;
  std::optional<ComputationBuilder> builder;
  bool canReduce = false;
};

bool isClose(double found, double wanted, double tolerance) {
  if (std::isnan(found) || std::isnan(wanted))
    return std::isnan(found) == std::isnan(wanted);
  return found == wanted || std::abs(found - wanted) <=
                                tolerance * std::max(1.0, std::abs(wanted));
}

/// Calls body(index, element) for every element of a buffer.
template <typename Body>
void forEachElement(const BufferType &type, Body body) {
  std::vector<int64_t> strides = type.strides(), index(type.dims.size(), 0);
  int64_t count = 1;
  for (int64_t extent : type.dims)
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    int64_t element = type.origin();
    for (size_t d = 0; d < index.size(); ++d)
      element += index[d] * strides[d];
    body(index, element);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < type.dims[d])
        break;
      index[d] = 0;
    }
  }
}

std::string difference(const Task &task, std::vector<TypedBuffer> buffers,
                       bool isExact) {
  TypedBuffer found = buffers.back();
  buffers.pop_back();
  ComputationPoint point(task.computation, std::move(buffers));
  DType dtype = found.type->dtype;
  double tolerance = isExact ? 0 : dtype == DType::F32 ? 1e-5 : 1e-12;
  std::string different;
  forEachElement(*found.type, [&](const std::vector<int64_t> &index,
                                  int64_t element) {
    Number is = found.at(element), wanted = point.at(index);
    bool same = isFloat(dtype) ? isClose(is.real, wanted.real, tolerance)
                               : is.whole == wanted.whole;
    if (!same && different.empty())
      different =
          "element " + std::to_string(element) + " is " +
          std::to_string(isFloat(dtype) ? is.real : double(is.whole)) +
          " instead of " +
          std::to_string(isFloat(dtype) ? wanted.real : double(wanted.whole));
  });
  return different;
}

/// Runs the task both ways on random data; what differs, or empty.
std::string mismatch(const Task &task, std::mt19937 &random, bool isExact) {
  Target target = hostTarget();
  target.threads = 3;
  if (std::string broken = task.verify(); !broken.empty())
    return broken;
  Result<Kernel> kernel =
      lowerTask(task, defaultSchedule(task, target), target, "kernel");
  if (!kernel)
    return kernel.error().message;
  Result<LoadedKernel> loaded = LoadedKernel::load(*kernel);
  if (!loaded)
    return loaded.error().message;
  std::vector<AlignedFloats> memory;
  std::vector<float *> pointers;
  std::vector<TypedBuffer> buffers;
  for (const Operand &operand : task.operands) {
    const BufferType &type = operand.type;
    memory.emplace_back((type.sizeBytes() + 3) / 4, NAN);
    pointers.push_back(memory.back().data());
    auto *bytes = reinterpret_cast<std::byte *>(pointers.back());
    forEachElement(type, [&](const std::vector<int64_t> &, int64_t element) {
      fillElement(bytes + size_t(element) * sizeOf(type.dtype), type.dtype,
                  random);
    });
    buffers.push_back({&type, bytes});
  }
  loaded->run(pointers);
  const BufferType &out = task.output().type;
  if (out.layout == Layout::Nhwc)
    for (int64_t i = 0; i < out.elementCount(); ++i)
      if (i % out.channelStride >= out.dims[1] && memory.back()[i] != 0)
        return "a lane behind the channels is not 0";
  return difference(task, std::move(buffers), isExact);
}

TEST(Compute, RandomComputations) {
  for (unsigned seed = 0; seed < 250; ++seed) {
    Generator generator(seed);
    Task task = generator.task();
    ASSERT_EQ(mismatch(task, generator.random, generator.isExact), "")
        << "seed " << seed << '\n'
        << task.text();
  }
}

TEST(BatchMatMul, AgreesWithTheEvaluator) {
  for (bool transposed : {false, true})
    for (int64_t batch : {1, 3}) {
      Task task;
      task.kind = TaskKind::BatchMatMul;
      task.transposedWeight = transposed;
      std::vector<int64_t> y = transposed ? std::vector<int64_t>{batch, 21, 37}
                                          : std::vector<int64_t>{batch, 37, 21};
      task.operands = {{Role::Input, {.dims = {3, 5, 37}}},
                       {Role::Input, {.dims = y}},
                       {Role::Extra, {.dims = {1, 1, 21}}},
                       {Role::Output, {.dims = {3, 5, 21}}}};
      task.points = {
          {Op::Add,
           {{PointRef::Kind::Accumulator, 0}, {PointRef::Kind::Operand, 2}}},
          {Op::Relu, {{PointRef::Kind::Point, 0}}}};
      ASSERT_EQ(task.verify(), "");
      Target target = hostTarget();
      target.threads = 2;
      Result<Kernel> kernel =
          lowerTask(task, defaultSchedule(task, target), target, "kernel");
      ASSERT_TRUE(kernel) << kernel.error().message;
      Result<LoadedKernel> loaded = LoadedKernel::load(*kernel);
      ASSERT_TRUE(loaded) << loaded.error().message;
      KernelVerdict verdict = checkKernel(task, *kernel, *loaded);
      EXPECT_EQ(verdict.wrong, "") << task.text();
      EXPECT_EQ(verdict.points, 3 * 5 * 21);
    }
}

/// Blocks of a transpose, whole and cut, with a pad that cuts their loops.
TEST(Compute, Transposes) {
  for (DType dtype : {DType::F32, DType::I16})
    for (int64_t columns : {64, 37, 135}) {
      ComputationBuilder builder({3, 11, columns});
      Node row = builder.loop(1);
      Node column =
          builder.op(Scalar::Sub, {builder.loop(2), builder.integer(2)});
      Node load = builder.load(0, dtype, {builder.loop(0), column, row});
      Node inside = builder.op(Scalar::LessEqual, {builder.integer(0), column});
      Task task;
      task.kind = TaskKind::Compute;
      task.computation = builder.finish(
          builder.select(inside, load, builder.number(7, dtype)));
      task.operands = {
          {Role::Input, {.dtype = dtype, .dims = {3, columns - 2, 11}}},
          {Role::Output, {.dtype = dtype, .dims = {3, 11, columns}}}};
      std::mt19937 random(2);
      EXPECT_EQ(mismatch(task, random, true), "");
    }
}

/// Whole blocks in registers and what is left of them, from a row on.
TEST(Compute, PlainTransposes) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 64},
                               {37, 135},
                               {5, 70},
                               {400, 65},
                               {16, 16}}) {
    ComputationBuilder builder({2, rows, 3, columns});
    Node load =
        builder.load(0, DType::F32,
                     {builder.loop(0), builder.integer(1), builder.loop(3),
                      builder.loop(2), builder.loop(1)});
    Task task;
    task.kind = TaskKind::Compute;
    task.computation = builder.finish(load);
    task.operands = {{Role::Input, {.dims = {2, 2, columns, 3, rows + 1}}},
                     {Role::Output, {.dims = {2, rows, 3, columns}}}};
    std::mt19937 random(4);
    EXPECT_EQ(mismatch(task, random, true), "");
  }
}

/// [N,C,L] to [N,1,L], where rows of accumulators are wanted.
TEST(Compute, ReducesAcrossRows) {
  for (Combine combine : {Combine::Sum, Combine::Max, Combine::Product}) {
    ComputationBuilder builder({3, 1, 700}, {5});
    Node load =
        builder.load(0, DType::F32,
                     {builder.loop(0), builder.reduction(0), builder.loop(2)});
    Node sum = builder.reduce(load, combine);
    Task task;
    task.kind = TaskKind::Compute;
    task.computation =
        builder.finish(builder.op(Scalar::Mul, {sum, builder.real(0.5)}));
    task.operands = {{Role::Input, {.dims = {3, 5, 700}}},
                     {Role::Output, {.dims = {3, 1, 700}}}};
    std::mt19937 random(1);
    EXPECT_EQ(mismatch(task, random, false), "");
  }
}

} // namespace
