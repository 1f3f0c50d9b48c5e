#include "driver/Stripes.h"

#include "base/Random.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

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

/// Runs the parts on paper: what they read must have been written.
void expectRight(const Net &net, int64_t threads) {
  const Plan &plan = net.plan;
  std::vector<int64_t> chunksDone(plan.steps.size(), 0);
  auto rowsDone = [&](size_t step) {
    const KernelStage &stage = net.kernels[step].stages[0];
    int64_t blocks = chunksDone[step] / (stage.chunks / stage.rowBlocks);
    const std::vector<int64_t> &dims = plan.tasks[step].output().type.dims;
    return dims[2] * dims[3] / stage.rowBlocks * blocks / dims[3];
  };
  for (const StepPart &part : stepParts(plan, net.kernels, threads)) {
    size_t step = size_t(part.step);
    const Task &task = plan.tasks[step];
    const KernelStage &stage = net.kernels[step].stages[0];
    int64_t chunks = part.chunks ? part.chunks : stage.chunks;
    ASSERT_EQ(part.firstChunk, chunksDone[step]) << "step " << step;
    ASSERT_LE(part.firstChunk + chunks, stage.chunks);
    // Rows of the output that the part's last pixel is in.
    const std::vector<int64_t> &dims = task.output().type.dims;
    int64_t perBlock = stage.chunks / stage.rowBlocks;
    int64_t blocks = (part.firstChunk + chunks + perBlock - 1) / perBlock;
    int64_t pixels = dims[2] * dims[3] / stage.rowBlocks * blocks;
    int64_t rows = (pixels + dims[3] - 1) / dims[3];
    for (size_t j = 0; j + 1 < task.operands.size(); ++j) {
      size_t writer = size_t(plan.steps[step].operands[j]);
      if (writer-- == 0)
        continue; // the chain's input
      int64_t needed = rows;
      if (task.operands[j].role == Role::Input) {
        const Window &window = task.windows[0];
        needed = std::min((rows - 1) * window.stride - window.padBegin +
                              window.kernel,
                          task.operands[j].type.dims[2]);
      }
      ASSERT_GE(rowsDone(writer), needed)
          << "step " << step << " chunk " << part.firstChunk;
    }
    chunksDone[step] += chunks;
  }
  for (size_t step = 0; step < plan.steps.size(); ++step)
    EXPECT_EQ(chunksDone[step], net.kernels[step].stages[0].chunks);
}

} // namespace

TEST(Stripes, StepsOfAChainTakeTurns) {
  Net net = netOf(16, {{.rowBlocks = 4}, {.kernel = 3, .rowBlocks = 4}});
  std::vector<StepPart> parts = stepParts(net.plan, net.kernels, 1);
  // The first block of the window reads a row of the second block before it.
  std::vector<StepPart> expected = {{0, 0, 2}, {1, 0, 1}, {0, 2, 1},
                                    {1, 1, 1}, {0, 3, 1}, {1, 2, 2}};
  EXPECT_EQ(parts, expected);
}

TEST(Stripes, StepsOutsideChainsRunWhole) {
  Net net = netOf(16, {{.rowBlocks = 4}, {.rowBlocks = 4}});
  net.plan.chains.clear();
  std::vector<StepPart> expected = {{0, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(stepParts(net.plan, net.kernels, 1), expected);
  net.plan.chains = {{0, 2}};
  EXPECT_EQ(stepParts(net.plan, net.kernels, 2), expected);
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
    ASSERT_NO_FATAL_FAILURE(expectRight(netOf(height, layers), 1))
        << "round " << round;
  }
}
