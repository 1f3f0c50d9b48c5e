#include "driver/Stripes.h"

#include "base/Random.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tlm;

namespace {

struct Layer {
  int64_t kernel = 1, stride = 1, rowBlocks = 1, inner = 1;
  int32_t residual = -1; ///< layer whose output the epilogue reads
};

struct Net {
  Plan plan;
  std::vector<Kernel> kernels;
};

BufferType image(int64_t height, int64_t border) {
  return {.layout = Layout::Nhwc,
          .dims = {1, 16, height, height},
          .channelStride = 16,
          .border = {border, border, border, border, 0}};
}

/// A chain of convolutions over square images.
Net netOf(int64_t height, const std::vector<Layer> &layers) {
  Net net;
  net.plan.buffers.push_back({.type = image(height, 3), .value = 0});
  for (const Layer &layer : layers) {
    Window window = {.kernel = layer.kernel,
                     .stride = layer.stride,
                     .padBegin = layer.kernel / 2,
                     .padEnd = layer.kernel / 2};
    Task task;
    task.kind = TaskKind::Conv;
    task.windows = {window, window};
    int32_t input = int32_t(net.plan.buffers.size()) - 1;
    BufferType from = net.plan.buffers.back().type;
    BufferType to = image(window.outputExtent(from.dims[2]), 3);
    PlanStep step;
    step.task = int32_t(net.plan.tasks.size());
    step.operands = {input};
    task.operands.push_back({Role::Input, from});
    if (layer.residual >= 0) {
      step.operands.push_back(layer.residual + 1);
      task.operands.push_back({Role::Extra, to});
    }
    task.operands.push_back({Role::Output, to});
    net.plan.buffers.push_back({.type = to, .value = 0});
    step.operands.push_back(input + 1);
    net.plan.tasks.push_back(task);
    net.plan.steps.push_back(step);
    Kernel kernel;
    kernel.maxParallelism = 8;
    kernel.stages = {{"k", layer.rowBlocks * layer.inner, layer.rowBlocks}};
    net.kernels.push_back(kernel);
  }
  net.plan.chains = {{0, int32_t(layers.size())}};
  return net;
}

/// Runs the phases on paper: what they read must have been written in an
/// earlier phase or earlier in the same list.
class Paper {
public:
  explicit Paper(const Net &net) : net(net), plan(net.plan) {
    for (const PlanStep &step : plan.steps)
      before.emplace_back(
          size_t(net.kernels[size_t(step.task)].stages[0].chunks), false);
  }

  void run(int64_t threads) {
    for (const StepPhase &phase : phasesOf(plan, net.kernels, threads)) {
      auto after = before;
      ASSERT_TRUE(!phase.shared || phase.lists.size() == 1);
      for (const std::vector<StepPart> &list : phase.lists) {
        auto seen = before;
        for (const StepPart &part : list)
          ASSERT_NO_FATAL_FAILURE(runPart(part, seen, after));
      }
      before = after;
    }
    for (const std::vector<bool> &chunks : before)
      for (bool done : chunks)
        EXPECT_TRUE(done);
  }

private:
  using Chunks = std::vector<std::vector<bool>>;

  void runPart(const StepPart &part, Chunks &seen, Chunks &after) {
    size_t step = size_t(part.step);
    const Task &task = plan.tasks[step];
    const KernelStage &stage = net.kernels[step].stages[0];
    const std::vector<int64_t> &dims = task.output().type.dims;
    int64_t chunks = part.chunks ? part.chunks : stage.chunks;
    int64_t perBlock = stage.chunks / stage.rowBlocks;
    for (int64_t c = part.firstChunk; c < part.firstChunk + chunks; ++c) {
      ASSERT_FALSE(after[step][size_t(c)]) << "twice: step " << step;
      int64_t pixels = dims[2] * dims[3] / stage.rowBlocks;
      int64_t begin = pixels * (c / perBlock) / dims[3];
      int64_t end = (pixels * (c / perBlock + 1) - 1) / dims[3] + 1;
      for (size_t j = 0; j + 1 < task.operands.size(); ++j) {
        size_t writer = size_t(plan.steps[step].operands[j]);
        if (writer-- == 0)
          continue; // the chain's input
        int64_t from = begin, to = end;
        if (task.operands[j].role == Role::Input) {
          const Window &window = task.windows[0];
          from = begin * window.stride - window.padBegin;
          to = (end - 1) * window.stride - window.padBegin + window.kernel;
        }
        for (int64_t row = std::max<int64_t>(0, from);
             row < std::min(to, task.operands[j].type.dims[2]); ++row)
          ASSERT_TRUE(isWritten(writer, row, seen))
              << "step " << step << " chunk " << c << " row " << row;
      }
    }
    for (int64_t c = part.firstChunk; c < part.firstChunk + chunks; ++c)
      seen[step][size_t(c)] = after[step][size_t(c)] = true;
  }

  bool isWritten(size_t step, int64_t row, const Chunks &seen) const {
    const KernelStage &stage = net.kernels[step].stages[0];
    const std::vector<int64_t> &dims = plan.tasks[step].output().type.dims;
    int64_t pixels = dims[2] * dims[3] / stage.rowBlocks;
    int64_t perBlock = stage.chunks / stage.rowBlocks;
    for (int64_t pixel : {row * dims[3], (row + 1) * dims[3] - 1})
      for (int64_t c = 0; c < perBlock; ++c)
        if (!seen[step][size_t(pixel / pixels * perBlock + c)])
          return false;
    return true;
  }

  const Net &net;
  const Plan &plan;
  Chunks before;
};

} // namespace

TEST(Stripes, StepsOfAChainTakeTurns) {
  Net net = netOf(16, {{.rowBlocks = 4}, {.kernel = 3, .rowBlocks = 4}});
  // The first block of the window reads a row of the second block before it.
  std::vector<StepPhase> expected = {
      {{{{0, 0, 2}, {1, 0, 1}, {0, 2, 1}, {1, 1, 1}, {0, 3, 1}, {1, 2, 2}}}}};
  EXPECT_EQ(phasesOf(net.plan, net.kernels, 1), expected);
}

TEST(Stripes, SharesMeetInTheMiddleFirst) {
  Net net = netOf(32, {{.rowBlocks = 8}, {.kernel = 3, .rowBlocks = 8}});
  std::vector<StepPhase> expected = {
      {{{{0, 2, 4}}}, true},
      {{{{1, 3, 2}}}, true},
      {{{{0, 0, 2}, {1, 0, 3}}, {{1, 5, 1}, {0, 6, 2}, {1, 6, 2}}}},
  };
  std::vector<StepPhase> phases = phasesOf(net.plan, net.kernels, 2);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0], expected[0]);
  EXPECT_EQ(phases[1], expected[1]);
  EXPECT_EQ(phases[2].lists.size(), 2u);
  Paper(net).run(2);
}

TEST(Stripes, StepsOutsideChainsRunWhole) {
  Net net = netOf(16, {{.rowBlocks = 4}, {.rowBlocks = 4}});
  net.plan.chains.clear();
  std::vector<StepPhase> whole = {{{{{0, 0, 0}}}, true}, {{{{1, 0, 0}}}, true}};
  EXPECT_EQ(phasesOf(net.plan, net.kernels, 1), whole);
  // Fewer blocks than workers, or stages that wait for each other.
  net.plan.chains = {{0, 2}};
  EXPECT_EQ(phasesOf(net.plan, net.kernels, 5), whole);
  net.kernels[0].stages.push_back({"l", 4, 4});
  EXPECT_EQ(phasesOf(net.plan, net.kernels, 1), whole);
}

TEST(Stripes, RunsWithoutBarriersWhereSharesDoNotMeet) {
  // The window reads across the middle; what follows does not.
  Net net = netOf(16, {{.rowBlocks = 4},
                       {.kernel = 3, .rowBlocks = 4},
                       {.rowBlocks = 2},
                       {.rowBlocks = 4},
                       {.rowBlocks = 3}});
  net.plan.chains = {};
  EXPECT_EQ(chooseChains(net.plan, net.kernels, 1, 1 << 30), net.plan.chains);
  net.plan.chains = chooseChains(net.plan, net.kernels, 2, 1 << 30);
  EXPECT_EQ(net.plan.chains, (std::vector<PlanChain>{{1, 3}}));
  std::vector<StepPhase> phases = phasesOf(net.plan, net.kernels, 2);
  ASSERT_EQ(phases.size(), 3u);
  StepPhase expected = {
      {{{1, 0, 2}, {2, 0, 1}, {3, 0, 2}}, {{1, 2, 2}, {2, 1, 1}, {3, 2, 2}}}};
  EXPECT_EQ(phases[1], expected);
  Paper(net).run(2);
}

TEST(Stripes, SharesOfChannelsMeetInConvolutions) {
  Net net = netOf(7, {{.inner = 6}, {.kernel = 3, .inner = 2}, {.inner = 4}});
  for (Kernel &kernel : net.kernels)
    kernel.stages[0].channelBlocks = kernel.stages[0].chunks;
  net.plan.tasks[1].kind = TaskKind::Depthwise;
  EXPECT_EQ(chooseChains(net.plan, net.kernels, 2, 1 << 30),
            (std::vector<PlanChain>{{0, 2}}));
  net.plan.chains = {{0, 2}};
  StepPhase expected = {{{{0, 0, 3}, {1, 0, 1}}, {{0, 3, 3}, {1, 1, 1}}}};
  EXPECT_EQ(phasesOf(net.plan, net.kernels, 2)[0], expected);
  // Six parts of the channels are no shares of four workers.
  EXPECT_TRUE(chooseChains(net.plan, net.kernels, 4, 1 << 30).empty());
}

TEST(Stripes, AnOperandUnlikeTheOutputIsReadWhole) {
  Net net = netOf(16, {{.rowBlocks = 4}, {.rowBlocks = 4, .residual = 0}});
  net.plan.tasks[1].operands[1].type = {
      .layout = Layout::Nhwc, .dims = {1, 16, 1, 1}, .channelStride = 16};
  EXPECT_TRUE(chooseChains(net.plan, net.kernels, 2, 1 << 30).empty());
}

TEST(Stripes, EveryChunkOnceAndNothingTooEarly) {
  Random random(3);
  for (int round = 0; round < 400; ++round) {
    int64_t height = 4 * int64_t(1 + random.below(12));
    std::vector<Layer> layers;
    int64_t size = height;
    for (uint64_t i = 0, count = 2 + random.below(5); i < count; ++i) {
      Layer layer;
      layer.kernel = int64_t(1 + 2 * random.below(4));
      layer.stride = size > 4 ? int64_t(1 + random.below(2)) : 1;
      size = (size - 1) / layer.stride + 1;
      // A divisor of the pixels, not always of the rows.
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= 32; ++d)
        if (size * size % d == 0)
          divisors.push_back(d);
      layer.rowBlocks = divisors[random.below(divisors.size())];
      layer.inner = int64_t(1 + random.below(3));
      if (i > 1 && layer.stride == 1 && random.below(2))
        layer.residual = int32_t(i) - 1;
      layers.push_back(layer);
    }
    Net net = netOf(height, layers);
    for (int64_t threads : {1, 2, 3})
      for (int64_t bytes : {1, 1 << 30}) {
        net.plan.chains = chooseChains(net.plan, net.kernels, threads, bytes);
        ASSERT_NO_FATAL_FAILURE(Paper(net).run(threads))
            << "round " << round << ", " << threads << " threads";
      }
  }
}
