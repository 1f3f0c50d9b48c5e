//===- AttentionTest.cpp - attention over odd extents -----------*- C++ -*-===//
//
// Against the evaluator, with vectors of 8 lanes and those of the host.
//
//===----------------------------------------------------------------------===//

#include "lower/KernelCheck.h"
#include "space/DefaultSchedule.h"
#include "space/Space.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

struct AttentionCase {
  int64_t batch = 1, heads = 2, keyHeads = 2, rows = 9, keys = 9, depth = 16;
  int64_t valueDepth = 0; ///< 0: depth
  bool headFirst = false; ///< [B,heads,S,D] operands
  std::vector<int64_t> mask = {};

  Task task() const {
    int64_t values = valueDepth ? valueDepth : depth;
    auto operand = [&](int64_t count, int64_t positions, int64_t size) {
      BufferType type;
      type.dims = headFirst ? std::vector{batch, count, positions, size}
                            : std::vector{batch, positions, count * size};
      return Operand{Role::Input, type, false};
    };
    Task task;
    task.kind = TaskKind::Attention;
    task.attention = {heads, keyHeads, 0.2f};
    task.operands = {operand(heads, rows, depth),
                     operand(keyHeads, keys, depth),
                     operand(keyHeads, keys, values)};
    if (!mask.empty())
      task.operands.push_back({Role::Extra, {.dims = mask}, false});
    task.operands.push_back(
        {Role::Output, {.dims = {batch, rows, heads * values}}, false});
    return task;
  }
};

void expectRight(const Task &task, const Schedule &schedule,
                 const Target &target) {
  ASSERT_EQ(task.verify(), "");
  Result<Kernel> kernel = lowerTask(task, schedule, target, "kernel");
  ASSERT_TRUE(kernel) << kernel.error().message << task.text();
  Result<LoadedKernel> loaded = LoadedKernel::load(*kernel);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(checkKernel(task, *kernel, *loaded).wrong, "")
      << target.cpu << '\n'
      << task.text() << schedule.text();
}

/// The plain schedule; the default one and another, with both widths of
/// vectors.
void expectRight(const AttentionCase &attention) {
  Task task = attention.task();
  expectRight(task, plainSchedule(task), hostTarget());
  for (Target target : {hostTarget(), *targetFor("x86-64-v3")}) {
    target.threads = 2;
    expectRight(task, defaultSchedule(task, target), target);
    Random random(7);
    expectRight(task, Space(task, target).sample(random), target);
  }
}

} // namespace

TEST(Attention, HeadsOfAnySize) {
  for (int64_t depth : {1, 7, 8, 20, 24, 33, 72})
    expectRight({.batch = 2, .depth = depth, .headFirst = depth % 2 == 0});
}

TEST(Attention, ValuesOfAnotherSize) {
  for (auto [depth, values] : {std::pair<int64_t, int64_t>{16, 32},
                               {32, 16},
                               {12, 20},
                               {16, 24},
                               {24, 16}})
    expectRight({.heads = 4,
                 .rows = 12,
                 .keys = 20,
                 .depth = depth,
                 .valueDepth = values,
                 .headFirst = depth < values});
}

TEST(Attention, RowsAndKeysOfAnyCount) {
  for (auto [rows, keys] : {std::pair<int64_t, int64_t>{1, 1},
                            {1, 50},
                            {7, 3},
                            {49, 49},
                            {77, 77},
                            {60, 33},
                            {16, 197}})
    expectRight({.rows = rows, .keys = keys, .depth = 32});
}

TEST(Attention, MasksThatBroadcast) {
  for (std::vector<int64_t> mask : {std::vector<int64_t>{1, 1, 1, 21},
                                    {2, 1, 1, 21},
                                    {1, 4, 10, 21},
                                    {2, 4, 10, 21},
                                    {2, 1, 10, 1},
                                    {1, 1, 1, 1}})
    expectRight({.batch = 2,
                 .heads = 4,
                 .keyHeads = 2,
                 .rows = 10,
                 .keys = 21,
                 .depth = 20,
                 .mask = mask});
}
