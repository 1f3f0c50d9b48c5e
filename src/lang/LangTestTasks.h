//===- LangTestTasks.h - tasks for the tests of lang/ -----------*- C++ -*-===//

#ifndef TLM_LANG_LANGTESTTASKS_H
#define TLM_LANG_LANGTESTTASKS_H

#include "base/Check.h"
#include "base/Random.h"
#include "lang/Vocabulary.h"
#include "space/SpaceTestTasks.h"
#include "target/Target.h"

#include <cmath>

namespace tlm {

/// Of words with a space between them.
inline std::vector<Token> readWords(std::string_view text) {
  std::vector<Token> tokens;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    tokens.push_back(Vocabulary::get().at(word));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return tokens;
}

inline Task taskOf(const std::string &body) {
  Result<Task> task = parseTask("tlm-task 1\n" + body);
  TLM_CHECK(task) << task.error().message << '\n' << body;
  return std::move(*task);
}

/// Forms that no task of a Space test has.
inline std::vector<Task> langTestTasks() {
  std::vector<Task> tasks = spaceTestTasks();
  for (const char *body : {
           // Sides of a border that differ, -inf, windows that differ, the
           // padding of channels beyond the usual.
           "kind max_pool\noperand input f32 nhwc[1,24,9,11]c48 "
           "border(1,2,0,3)=-inf\noperand output f32 nhwc[1,24,5,13]c48\n"
           "window 3 stride 2 dilation 1 pad 1 1\n"
           "window 2 stride 1 dilation 1 pad 0 3\n",
           "kind average_pool\noperand input f32 plain[1,3,8,8] "
           "border(1,1,1,1)=0\noperand output f32 plain[1,3,8,8]\n"
           "window 3 stride 1 dilation 1 pad 1 1\n"
           "window 3 stride 1 dilation 1 pad 1 1\ncount_include_pad\n",
           // Points that read points and operands, with attributes.
           "kind pointwise\noperand input f32 plain[2,1,7]\n"
           "operand extra f32 plain[1,5,7]\noperand extra const f32 "
           "plain[2,5,1]\noperand output f32 plain[2,5,7]\n"
           "point leaky_relu acc a=0.01\npoint mul point0 operand1\n"
           "point clip point1 a=-1e-30 b=3.4028235e+38\n"
           "point max point2 point0 acc operand2\n",
           // Rank 0, and no input at all.
           "kind compute\noperand output i64 plain[]\nloops []\n"
           "%0 = const i64 -9223372036854775808\nresult %0\n",
           "kind compute\noperand input i64 plain[0]\noperand output i64 "
           "plain[3]\nloops [3]\n%0 = loop 0\n%1 = load i64 0 [%0]\nresult "
           "%1\n",
           // Every kind of constant, a reduction, a gather.
           "kind compute\noperand input f64 plain[50257,3]\n"
           "operand input i64 plain[4]\noperand output bool plain[4]\n"
           "loops [4] reductions [3]\n%0 = loop 0\n%1 = loop 1\n"
           "%2 = load i64 1 [%0]\n%3 = const i64 -17\n%4 = lt %2 %3\n"
           "%5 = select %4 %3 %2\n%6 = load f64 0 [%5, %1]\n"
           "%7 = const f64 0.1\n%8 = mul %6 %7\n%9 = reduce arg_max_last %8\n"
           "%10 = cast f32 %9\n%11 = const f32 -0\n%12 = le %10 %11\n"
           "result %12\n",
       })
    tasks.push_back(taskOf(body));
  return tasks;
}

/// An extent as they come: small, round, prime, large.
inline int64_t randomExtent(Random &random) {
  switch (random.below(4)) {
  case 0:
    return int64_t(1 + random.below(16));
  case 1:
    return int64_t(1 + random.below(8)) << random.below(7);
  case 2:
    return int64_t(1 + random.below(300));
  default:
    return int64_t(1 + random.below(uint64_t(1) << random.below(13)));
  }
}

/// A convolution or depthwise one with random extents, windows, groups, layout
/// and epilogue.
inline Task randomConv(Random &random) {
  Task task;
  bool nhwc = random.below(4) != 0;
  int64_t groups = random.below(3) ? 1 : int64_t(1 + random.below(8));
  int64_t channels = groups * randomExtent(random);
  int64_t filters = groups * randomExtent(random);
  task.kind = TaskKind::Conv;
  if (random.below(4) == 0) {
    task.kind = TaskKind::Depthwise;
    groups = filters = channels;
  }
  task.groups = groups;
  std::vector<int64_t> in = {int64_t(1 + random.below(4)), channels};
  std::vector<int64_t> out = {in[0], filters};
  for (int i = 0; i < 2; ++i) {
    Window window;
    window.kernel = int64_t(1 + random.below(5));
    window.stride = int64_t(1 + random.below(3));
    window.dilation = int64_t(1 + random.below(2));
    window.padBegin = int64_t(random.below(3));
    window.padEnd = int64_t(random.below(3));
    if (i && random.below(2))
      window = task.windows[0];
    in.push_back(window.kernel * window.dilation + randomExtent(random) % 300);
    out.push_back(window.outputExtent(in.back()));
    task.windows.push_back(window);
  }
  auto type = [&](const std::vector<int64_t> &dims) {
    BufferType type{.dims = dims};
    if (nhwc) {
      type.layout = Layout::Nhwc;
      type.channelStride = (dims[1] + 15) / 16 * 16;
    }
    return type;
  };
  BufferType input = type(in);
  input.border = windowBorder(task.windows, in[2], in[3]);
  BufferType output = type(out);
  task.operands.push_back({Role::Input, input});
  task.operands.push_back(
      {Role::Weight,
       {.dims = {filters, channels / groups, task.windows[0].kernel,
                 task.windows[1].kernel}},
       true});
  if (random.below(2))
    task.operands.push_back({Role::Bias, {.dims = {filters}}, true});
  bool adds = random.below(2);
  if (adds) {
    task.points.push_back(
        {Op::Add,
         {{}, {PointRef::Kind::Operand, int32_t(task.operands.size())}}});
    task.operands.push_back({Role::Extra, output});
  }
  if (random.below(2))
    task.points.push_back(
        {Op::Clip,
         {adds ? PointRef{PointRef::Kind::Point, 0} : PointRef{}},
         -float(random.below(3)),
         float(random.below(1000)) / 8});
  task.operands.push_back({Role::Output, output});
  return task;
}

inline Task randomMatrices(Random &random) {
  Task task;
  int64_t m = randomExtent(random), n = randomExtent(random),
          k = randomExtent(random), batch = randomExtent(random) % 17 + 1;
  task.transposedWeight = random.below(2);
  std::vector<int64_t> right =
      task.transposedWeight ? std::vector{n, k} : std::vector{k, n};
  if (random.below(2)) {
    task.kind = TaskKind::MatMul;
    task.operands = {{Role::Input, {.dims = {m, k}}},
                     {Role::Weight, {.dims = right}, random.below(4) != 0},
                     {Role::Output, {.dims = {m, n}}}};
    return task;
  }
  task.kind = TaskKind::BatchMatMul;
  right.insert(right.begin(), random.below(4) ? batch : 1);
  task.operands = {{Role::Input, {.dims = {batch, m, k}}},
                   {Role::Input, {.dims = right}},
                   {Role::Output, {.dims = {batch, m, n}}}};
  return task;
}

inline Task randomRows(Random &random) {
  Task task;
  BufferType type{.dims = {randomExtent(random), randomExtent(random)}};
  task.operands = {{Role::Input, type}, {Role::Output, type}};
  if (random.below(2)) {
    task.kind = TaskKind::Softmax;
    return task;
  }
  task.kind = TaskKind::Normalize;
  task.norm = Norm(random.below(2));
  task.epsilon = std::ldexp(float(1 + random.below(1 << 20)), -40);
  task.operands.insert(task.operands.begin() + 1,
                       {Role::Weight, {.dims = {type.dims[1]}}, true});
  return task;
}

inline Task randomAttention(Random &random) {
  Task task;
  task.kind = TaskKind::Attention;
  int64_t keyHeads = int64_t(1 + random.below(8));
  int64_t heads = keyHeads * int64_t(1 + random.below(3));
  int64_t batch = int64_t(1 + random.below(4));
  int64_t queries = randomExtent(random), keys = randomExtent(random);
  int64_t depth = int64_t(1 + random.below(96)), values = depth;
  if (random.below(2))
    values = int64_t(1 + random.below(96));
  task.attention = {heads, keyHeads, 1 / std::sqrt(float(depth))};
  auto add = [&](int64_t count, int64_t positions, int64_t size) {
    std::vector<int64_t> dims = {batch, positions, count * size};
    if (random.below(2))
      dims = {batch, count, positions, size};
    task.operands.push_back({Role::Input, {.dims = dims}});
  };
  add(heads, queries, depth);
  add(keyHeads, keys, depth);
  add(keyHeads, keys, values);
  if (random.below(2))
    task.operands.push_back({Role::Extra, {.dims = {1, 1, queries, keys}}});
  task.operands.push_back(
      {Role::Output, {.dims = {batch, queries, heads * values}}});
  return task;
}

/// A task that verifies, of the kinds that have something to decide.
inline Task randomTask(Random &random) {
  using Make = Task (*)(Random &);
  constexpr Make kMakers[] = {randomConv, randomMatrices, randomRows,
                              randomAttention};
  Task task = kMakers[random.below(std::size(kMakers))](random);
  std::string broken = task.verify();
  TLM_CHECK(broken.empty()) << broken << '\n' << task.text();
  return task;
}

inline Target targetOf(const char *cpu, int64_t threads) {
  Target target = *targetFor(cpu);
  target.threads = threads;
  return target;
}

inline std::vector<Target> langTestTargets() {
  return {targetOf("znver5", 2), targetOf("x86-64-v3", 1),
          targetOf("sapphirerapids", 96)};
}

} // namespace tlm

#endif // TLM_LANG_LANGTESTTASKS_H
