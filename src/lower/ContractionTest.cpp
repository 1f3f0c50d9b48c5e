//===- ContractionTest.cpp - groups, batches, run-time operands -----------===//
//
// Every kernel against the Evaluator, on operands whose sums are exact.
//
//===----------------------------------------------------------------------===//

#include "lower/KernelCase.h"
#include "lower/KernelCheck.h"
#include "space/ContractionShape.h"
#include "space/DefaultSchedule.h"

#include <gtest/gtest.h>

using namespace tlm;

namespace {

Target target(int threads = 2) {
  Target target = hostTarget();
  target.threads = threads;
  return target;
}

void expectRight(const Task &task, const Schedule &schedule,
                 const Target &target = ::target()) {
  ASSERT_EQ(task.verify(), "") << task.text();
  Result<Kernel> kernel = lowerTask(task, schedule, target, "k");
  ASSERT_TRUE(kernel) << kernel.error().message << "\n"
                      << task.text() << schedule.text();
  Result<LoadedKernel> loaded = LoadedKernel::load(*kernel);
  ASSERT_TRUE(loaded) << loaded.error().message;
  KernelVerdict verdict = checkKernel(task, *kernel, *loaded);
  EXPECT_EQ(verdict.wrong, "") << task.text() << schedule.text();
  EXPECT_GT(verdict.points, 0);
}

bool isDirect(const Schedule &schedule) {
  return schedule.get(Decision::Algorithm, "", -1) ==
         int64_t(Algorithm::Direct);
}

void expectRight(const Task &task) {
  Schedule schedule = defaultSchedule(task, target());
  EXPECT_TRUE(isDirect(schedule)) << task.text();
  expectRight(task, schedule);
}

/// Extras have the output's rank; every dim is 1 or the output's.
struct ProductCase {
  int64_t batch = 1, m = 1, k = 1, n = 1;
  bool transposed = false, sharedX = false, sharedY = false, constant = false,
       matrix = false;
  std::vector<std::vector<int64_t>> extras = {};

  Task task() const {
    Task task;
    task.kind = matrix ? TaskKind::MatMul : TaskKind::BatchMatMul;
    task.transposedWeight = transposed;
    auto type = [&](bool shared, int64_t rows, int64_t columns) {
      BufferType type;
      type.dims = {shared ? 1 : batch, rows, columns};
      if (matrix)
        type.dims.erase(type.dims.begin());
      return type;
    };
    task.operands = {{Role::Input, type(sharedX, m, k), false},
                     {matrix ? Role::Weight : Role::Input,
                      transposed ? type(sharedY, n, k) : type(sharedY, k, n),
                      constant}};
    PointRef last;
    for (const std::vector<int64_t> &dims : extras) {
      BufferType extra;
      extra.dims = dims;
      PointRef operand{PointRef::Kind::Operand, int32_t(task.operands.size())};
      task.operands.push_back({Role::Extra, extra, false});
      task.points.push_back({Op::Add, {last, operand}, 0, 0});
      last = {PointRef::Kind::Point, int32_t(task.points.size()) - 1};
    }
    task.operands.push_back({Role::Output, type(false, m, n), false});
    return task;
  }
};

} // namespace

TEST(Contraction, GroupsOfAnyWidth) {
  for (int64_t in : {1, 3, 8, 24})
    for (int64_t out : {1, 3, 4, 8, 16, 24, 40})
      expectRight(ConvCase{.c = 4 * in,
                           .f = 4 * out,
                           .h = 9,
                           .w = 7,
                           .k = 3,
                           .pad = 1,
                           .groups = 4}
                      .relu()
                      .task());
}

TEST(Contraction, GroupsWithStridesBordersAndResiduals) {
  for (int64_t width : {8, 16, 24, 56}) {
    ConvCase conv{.n = 2,
                  .c = 3 * width,
                  .f = 3 * width,
                  .h = 13,
                  .w = 15,
                  .k = 3,
                  .stride = 2,
                  .pad = 1,
                  .groups = 3,
                  .outBorder = 1};
    expectRight(conv.task());
    expectRight(ConvCase(conv).residual().relu().task());
    expectRight(ConvCase(conv).swish().task());
    conv = {.c = 6 * width, .f = 6 * width, .h = 8, .w = 8, .groups = 6};
    expectRight(ConvCase(conv).residual().task());
  }
  expectRight(ConvCase{.c = 6,
                       .f = 40,
                       .h = 11,
                       .w = 12,
                       .k = 3,
                       .pad = 1,
                       .groups = 2,
                       .nchwInput = true}
                  .task());
}

// Of an image of one pixel a residual looks like a vector along the channel, or
// a number; it has its border all the same.
TEST(Contraction, BordersAroundAResidualOfOnePixel) {
  for (int64_t side : {1, 2})
    for (int64_t filters : {1, 20, 64})
      expectRight(ConvCase{.c = 48,
                           .f = filters,
                           .h = side,
                           .w = side,
                           .k = 3,
                           .pad = 1,
                           .residualBorder = 1}
                      .residual()
                      .task());
}

TEST(Contraction, JoinedGroupsAgree) {
  Task task =
      ConvCase{.c = 64, .f = 64, .h = 9, .w = 10, .k = 3, .pad = 1, .groups = 8}
          .relu()
          .task();
  for (int64_t joined : {1, 2, 4, 8}) {
    Schedule schedule;
    schedule.taskKey = task.key();
    schedule.set(Decision::JoinedGroups, "", joined);
    schedule.set(Decision::RegisterRow, "f", 1);
    expectRight(task, schedule);
  }
  Schedule schedule;
  schedule.set(Decision::JoinedGroups, "", 3);
  EXPECT_FALSE(lowerTask(task, schedule, target(), "k"));
  // Thirteen groups in seven pairs: C = 104 has room for 112 lanes.
  task =
      ConvCase{
          .c = 104, .f = 104, .h = 9, .w = 10, .k = 3, .pad = 1, .groups = 13}
          .residual()
          .task();
  EXPECT_EQ(defaultSchedule(task, target()).get(Decision::JoinedGroups, "", 1),
            2);
  expectRight(task);
}

TEST(Contraction, NarrowerVectors) {
  Result<Target> narrow = targetFor("x86-64-v3");
  ASSERT_TRUE(narrow) << narrow.error().message;
  for (int64_t width : {8, 16, 20, 24}) {
    Task task = ConvCase{.c = 4 * width,
                         .f = 4 * width,
                         .h = 9,
                         .w = 8,
                         .k = 3,
                         .pad = 1,
                         .groups = 4}
                    .residual()
                    .task();
    expectRight(task, defaultSchedule(task, *narrow), *narrow);
  }
  for (bool transposed : {false, true}) {
    Task task =
        ProductCase{
            .batch = 2, .m = 21, .k = 19, .n = 27, .transposed = transposed}
            .task();
    expectRight(task, defaultSchedule(task, *narrow), *narrow);
  }
}

TEST(Contraction, RaggedFiltersWithRunTimeOperands) {
  for (int64_t n : {5, 16, 50, 100})
    for (int64_t m : {1, 7, 40}) {
      expectRight(ProductCase{.m = m,
                              .k = 20,
                              .n = n,
                              .constant = true,
                              .matrix = true,
                              .extras = {{m, n}, {1, n}, {m, 1}}}
                      .task());
    }
}

TEST(Contraction, BatchesOfProducts) {
  for (bool transposed : {false, true})
    for (auto [m, k, n] : {std::array<int64_t, 3>{5, 37, 21},
                           {49, 32, 49},
                           {16, 7, 64},
                           {33, 64, 130},
                           {6, 2, 3},
                           {70, 48, 16}}) {
      ProductCase product{
          .batch = 3, .m = m, .k = k, .n = n, .transposed = transposed};
      expectRight(product.task());
      product.extras = {{3, m, n}, {1, 1, n}, {1, m, n}, {3, m, 1}, {3, 1, n}};
      expectRight(product.task());
      product.extras = {{1, 1, 1}};
      product.sharedY = true;
      expectRight(product.task());
    }
}

TEST(Contraction, BatchesOfOneSide) {
  for (bool transposed : {false, true})
    for (bool constant : {false, true}) {
      ProductCase product{.batch = 3,
                          .m = 9,
                          .k = 20,
                          .n = 50,
                          .transposed = transposed,
                          .constant = constant,
                          .extras = {{1, 9, 50}}};
      expectRight(product.task());
      product.sharedX = true;
      expectRight(product.task());
      product.sharedX = false;
      product.sharedY = true;
      expectRight(product.task());
      product.extras = {{3, 9, 1}};
      expectRight(product.task());
    }
}

TEST(Contraction, RunTimeWeights) {
  for (bool transposed : {false, true})
    for (int64_t n : {10, 1040})
      for (int64_t m : {1, 8, 50}) {
        Task task = ProductCase{
            .m = m,
            .k = 33,
            .n = n,
            .transposed = transposed,
            .matrix = true,
            .extras = {
                {m, n}}}.task();
        Schedule schedule = defaultSchedule(task, target());
        // Few rows do not pay for the transpose.
        EXPECT_EQ(isDirect(schedule), !transposed || m > 4);
        expectRight(task, schedule);
        expectRight(task, plainSchedule(task));
        schedule.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
        expectRight(task, schedule);
      }
}

TEST(Contraction, PairsOfStepsWhereHalfAVectorIsFree) {
  auto isPaired = [](const Task &task, const Schedule &schedule,
                     const Target &target) {
    Result<Kernel> kernel = lowerTask(task, schedule, target, "k");
    size_t weight = size_t(task.indexOf(Role::Weight));
    const std::vector<PackDim> &dims = kernel->packings[weight]->dims;
    return dims.back().axis == 1 && dims.back().extent == 2;
  };
  auto expectPairs = [&](ConvCase conv, bool paired, const Target &target) {
    Task task = conv.task();
    Schedule schedule = defaultSchedule(task, target, {.approximate = false});
    EXPECT_EQ(isPaired(task, schedule, target), paired) << task.text();
    expectRight(task, schedule, target);
  };
  Target wide = target(), narrow = *targetFor("x86-64-v3");
  int64_t half = wide.vectorFloats() / 2;
  for (int64_t f :
       {half - 3, half, 2 * half, 3 * half - 1, 3 * half, 5 * half}) {
    ConvCase conv{.c = 30, .f = f, .h = 9, .w = 11};
    expectPairs(conv, true, wide);
    expectPairs(ConvCase(conv).relu6().residual(), true, wide);
    expectPairs(ConvCase(conv).scaled(), true, wide);
    conv = {.n = 3, .c = 48, .f = f, .h = 7, .w = 7, .outBorder = 1};
    expectPairs(conv, true, wide);
    expectPairs(ConvCase(conv).scaled().relu(), true, wide);
    conv = {.c = 6, .f = f, .h = 13, .w = 10, .k = 3, .stride = 2, .pad = 1};
    expectPairs(ConvCase(conv).residual(), true, wide);
    conv.h = conv.w = 2; // one pixel
    expectPairs(conv, false, wide);
  }
  // Whole vectors, an odd depth, an epilogue that is a loop.
  ConvCase conv{.c = 30, .f = 4 * half, .h = 9, .w = 11};
  expectPairs(conv, false, wide);
  conv.f = 3 * half;
  expectPairs(ConvCase(conv).swish(), false, wide);
  conv.c = 31;
  expectPairs(conv, false, wide);
  conv.c = 30;
  conv.f = 12; // of 8 lanes, where vectors have 8
  if (missingFeature(narrow).empty())
    expectPairs(ConvCase(conv).residual(), true, narrow);
}

TEST(Contraction, PassesOverPiecesOfTheDepth) {
  auto expectPasses = [](const Task &task, std::initializer_list<int64_t> tiles,
                         int64_t registerTile = 5) {
    for (int64_t tile : tiles)
      for (EpiloguePlace place :
           {EpiloguePlace::RegisterTile, EpiloguePlace::RowLoop}) {
        Schedule schedule = defaultSchedule(task, target());
        schedule.set(Decision::CacheTile, "depth", tile);
        schedule.set(Decision::RegisterTile, "w", registerTile);
        schedule.set(Decision::EpiloguePlace, "", int64_t(place));
        schedule.set(Decision::Prefetch, "", int64_t(Prefetch::NextPanel));
        expectRight(task, schedule);
      }
  };
  // A bias, activations and a residual; a border; a window, cut by rows.
  ConvCase conv{.c = 48, .f = 64, .h = 6, .w = 7, .outBorder = 1};
  expectPasses(conv.task(), {2, 16, 24});
  expectPasses(conv.residual().swish().task(), {12, 16});
  expectPasses(ConvCase{.c = 16, .f = 24, .h = 9, .w = 8, .k = 4, .pad = 1}
                   .relu()
                   .task(),
               {2});
  expectPasses(ConvCase{.c = 24, .f = 40, .h = 9, .w = 8, .groups = 2}.task(),
               {4, 6});
  expectPasses(ConvCase{.c = 64, .f = 32, .h = 1, .w = 1}.task(), {32}, 1);
  // Ragged panels, right operands in place and packed, batches.
  for (bool constant : {false, true})
    for (bool transposed : {false, true})
      for (int64_t n : {64, 50}) {
        ProductCase product{.m = 17,
                            .k = 60,
                            .n = n,
                            .transposed = transposed,
                            .constant = constant,
                            .matrix = true};
        product.extras = {{17, n}};
        expectPasses(product.task(), {12});
        product.matrix = false;
        product.batch = 3;
        product.extras = {{1, 17, 1}};
        expectPasses(product.task(), {15});
      }
}
