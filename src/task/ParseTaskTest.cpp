//===- ParseTaskTest.cpp --------------------------------------------------===//

#include "task/Task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace tlm;

namespace {
/// Random but valid tasks of every kind.
class Generator {
public:
  explicit Generator(uint32_t seed) : random(seed) {}

  Task next() {
    Task task;
    task.kind = TaskKind(pick(0, 11));
    if (task.kind == TaskKind::Compute)
      return compute();
    if (task.kind == TaskKind::BatchMatMul)
      return batchMatMul();
    int64_t n = pick(1, 2), channels = pick(1, 70);
    int64_t h = pick(1, 20), w = pick(1, 20);
    std::vector<int64_t> in{n, channels, h, w}, out = in;
    bool windowed =
        task.kind == TaskKind::Conv || task.kind == TaskKind::Depthwise ||
        task.kind == TaskKind::MaxPool || task.kind == TaskKind::AveragePool;
    BufferType input = type(in);
    if (windowed) {
      task.windows = {window(h), window(w)};
      out = {n, channels, task.windows[0].outputExtent(h),
             task.windows[1].outputExtent(w)};
      Border need = windowBorder(task.windows, h, w);
      need.value = input.border.value;
      input.border = need;
      if (need.empty())
        input.border.value = 0;
    }
    switch (task.kind) {
    case TaskKind::Conv:
      task.groups = channels % 2 ? 1 : 2;
      out[1] = task.groups * pick(1, 40);
      break;
    case TaskKind::Depthwise:
      task.groups = channels;
      if (channels == 1)
        task.groups = 1;
      break;
    case TaskKind::MatMul:
      in = {n, channels};
      out = {n, pick(1, 50)};
      input = {.dims = in};
      break;
    case TaskKind::GlobalPool:
      out = {n, channels, 1, 1};
      break;
    case TaskKind::Softmax:
      input = {.dims = in};
      break;
    case TaskKind::Concat:
      out[1] *= 2;
      task.operands.push_back({Role::Input, input});
      break;
    default:
      break;
    }
    task.operands.push_back({Role::Input, input});
    if (task.kind == TaskKind::Conv || task.kind == TaskKind::Depthwise)
      weigh(task, {out[1], channels / task.groups, task.windows[0].kernel,
                   task.windows[1].kernel});
    if (task.kind == TaskKind::MatMul) {
      task.transposedWeight = pick(0, 1);
      weigh(task, task.transposedWeight ? std::vector{out[1], channels}
                                        : std::vector{channels, out[1]});
    }
    if (task.kind == TaskKind::Conv && pick(0, 1))
      task.operands.insert(
          task.operands.end(),
          {Role::InputScale, {.dims = {n, channels, 1, 1}}, false});
    task.countIncludePad = task.kind == TaskKind::AveragePool && pick(0, 1);
    if (task.kind != TaskKind::Copy && task.kind != TaskKind::Concat &&
        task.kind != TaskKind::Softmax)
      addPoints(task, out);
    bool plain =
        task.kind == TaskKind::MatMul || task.kind == TaskKind::Softmax;
    task.operands.push_back(
        {Role::Output, plain ? BufferType{.dims = out} : type(out)});
    return task;
  }

private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  Window window(int64_t extent) {
    Window window{pick(1, 5), pick(1, 3), pick(1, 2), pick(0, 2), 0};
    int64_t reach = (window.kernel - 1) * window.dilation + 1;
    window.padEnd =
        std::max<int64_t>(pick(0, 2), reach - extent - window.padBegin);
    return window;
  }
  float number() {
    constexpr float kOdd[] = {0, 6, 0.1f, -1e-7f,
                              std::numeric_limits<float>::infinity()};
    return kOdd[pick(0, 4)];
  }
  BufferType type(std::vector<int64_t> dims) {
    BufferType type{.dims = std::move(dims)};
    if (pick(0, 2)) {
      type.layout = Layout::Nhwc;
      type.channelStride = (type.dims[1] + 15) / 16 * 16;
    }
    if (pick(0, 1))
      type.border = {pick(0, 2), pick(0, 2), pick(0, 2), 1,
                     -std::numeric_limits<float>::infinity()};
    return type;
  }
  Task compute() {
    constexpr DType kTypes[] = {DType::F32, DType::F64, DType::I64, DType::U8,
                                DType::Bool};
    using Node = ComputationBuilder::Node;
    std::vector<int64_t> loops(size_t(pick(0, 3)), pick(1, 9)), reductions;
    if (pick(0, 1))
      reductions = {pick(2, 5), pick(1, 3)};
    ComputationBuilder builder(loops, reductions);
    Task task;
    task.kind = TaskKind::Compute;
    DType dtype = kTypes[pick(0, 4)];
    std::vector<int64_t> dims(size_t(pick(0, 2)), pick(1, 6));
    task.operands = {{Role::Input, {.dtype = dtype, .dims = dims}}};
    std::vector<Node> indices;
    for (size_t d = 0; d < dims.size(); ++d)
      indices.push_back(!reductions.empty() ? builder.reduction(0)
                        : loops.empty()     ? builder.integer(-3)
                                            : builder.loop(0));
    Node x = builder.load(0, dtype, indices);
    bool isBool = dtype == DType::Bool;
    constexpr double kReal[] = {-0.0, 0.1, 1e300,
                                std::numeric_limits<double>::infinity()};
    for (int64_t i = 0, count = pick(0, 4); i < count; ++i) {
      Node number = isFloat(dtype) ? builder.real(kReal[pick(0, 3)], dtype)
                                   : builder.integer(pick(-99, 99), dtype);
      Node y = builder.op(isBool ? Scalar::Xor : Scalar::Sub, {number, x});
      x = pick(0, 1)
              ? y
              : builder.select(builder.op(Scalar::Less, {y, number}), x, y);
    }
    if (!reductions.empty())
      x = builder.reduce(x, isBool       ? Combine::Or
                            : pick(0, 1) ? Combine::Max
                                         : Combine::ArgMinLast);
    DType result = builder.dtypeOf(x);
    if (pick(0, 1))
      x = builder.cast(x, result = kTypes[pick(0, 4)]);
    task.computation = builder.finish(x);
    task.operands.push_back({Role::Output, {.dtype = result, .dims = loops}});
    return task;
  }
  Task batchMatMul() {
    Task task;
    task.kind = TaskKind::BatchMatMul;
    task.transposedWeight = pick(0, 1);
    int64_t batch = pick(1, 4), m = pick(1, 9), n = pick(1, 9), k = pick(1, 9);
    std::vector<int64_t> y{pick(0, 1) ? batch : 1, k, n};
    if (task.transposedWeight)
      std::swap(y[1], y[2]);
    task.operands = {{Role::Input, {.dims = {batch, m, k}}},
                     {Role::Input, {.dims = y}, pick(0, 1) == 1},
                     {Role::Output, {.dims = {batch, m, n}}}};
    return task;
  }
  void weigh(Task &task, std::vector<int64_t> dims) {
    int64_t outputs = task.kind == TaskKind::MatMul && !task.transposedWeight
                          ? dims[1]
                          : dims[0];
    task.operands.push_back({Role::Weight, {.dims = dims}, true});
    if (pick(0, 1))
      task.operands.push_back({Role::Bias, {.dims = {outputs}}, true});
  }
  void addPoints(Task &task, const std::vector<int64_t> &out) {
    for (int64_t i = 0, count = pick(0, 3); i < count; ++i) {
      PointRef previous;
      if (i)
        previous = {PointRef::Kind::Point, int32_t(i - 1)};
      if (pick(0, 1)) {
        task.points.push_back({Op::Clip, {previous}, number(), number()});
        continue;
      }
      task.points.push_back(
          {Op::Mul,
           {previous,
            {PointRef::Kind::Operand, int32_t(task.operands.size())}}});
      std::vector<int64_t> dims = out;
      dims[1] = pick(0, 1) ? 1 : dims[1];
      task.operands.push_back({Role::Extra, {.dims = dims}, pick(0, 1) == 1});
    }
  }

  std::mt19937 random;
};
} // namespace

TEST(ParseTask, PrintParsePrintIsIdentity) {
  int kinds[12] = {};
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Task task = Generator(seed).next();
    ASSERT_EQ(task.verify(), "") << task.text();
    Result<Task> parsed = parseTask(task.text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message << '\n' << task.text();
    EXPECT_EQ(parsed->text(), task.text());
    EXPECT_EQ(parsed->operands, task.operands);
    EXPECT_EQ(parsed->points, task.points);
    EXPECT_EQ(parsed->computation, task.computation);
    EXPECT_EQ(parsed->key(), task.key());
    ++kinds[int(task.kind)];
  }
  EXPECT_GT(*std::min_element(kinds, kinds + 12), 100);
}

// Whatever the text, the answer is a task whose text it is, or an error.
TEST(ParseTask, DamagedTextIsRefusedOrAnotherTask) {
  std::mt19937 random(1);
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::string text = Generator(seed).next().text();
    size_t at = random() % text.size();
    if (seed % 3 == 0)
      text.erase(at, 1 + random() % 20);
    else if (seed % 3 == 1)
      text[at] = "0129,[]() \nac=%-"[random() % 16];
    else
      text.insert(at, "9999999999");
    Result<Task> parsed = parseTask(text);
    if (parsed.ok())
      EXPECT_EQ(parsed->text(), text);
    else
      EXPECT_NE(parsed.error().message, "");
  }
}

static std::string errorOf(const std::string &text) {
  Result<Task> parsed = parseTask(text);
  return parsed.ok() ? "parsed" : parsed.error().message;
}

TEST(ParseTask, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf(""), "task text, line 1: expected 'tlm-task 1': ''");
  EXPECT_EQ(errorOf("tlm-task 2\n"),
            "task text, line 1: expected 'tlm-task 1': 'tlm-task 2'");
  EXPECT_EQ(errorOf("tlm-task 1\nkind konv\n"),
            "task text, line 2: malformed clause: 'kind konv'");
  EXPECT_EQ(errorOf("tlm-task 1\nkind copy\noperand input f32 plain[4] \n"),
            "task text, line 3: malformed clause: "
            "'operand input f32 plain[4] '");
  EXPECT_EQ(errorOf("tlm-task 1\nkind copy\noperand input f32 plain[4]\n"),
            "task text: operands do not start with an input and end with the "
            "output");
  EXPECT_EQ(errorOf("tlm-task 1\nkind copy\noperand input f32 plain[04]\n"
                    "operand output f32 plain[4]\n"),
            "task text, line 3: expected 'operand input f32 plain[4]': "
            "'operand input f32 plain[04]'");
}
