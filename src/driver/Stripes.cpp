#include "driver/Stripes.h"

#include "base/Check.h"

#include <algorithm>

namespace tlm {

namespace {

/// One chain.
class ChainOrder {
public:
  ChainOrder(const Plan &plan, const std::vector<Kernel> &kernels,
             const PlanChain &chain, int64_t threads,
             std::vector<StepPart> &parts)
      : plan(plan), kernels(kernels), chain(chain), threads(threads),
        parts(parts), done(size_t(chain.count), 0) {}

  void run() {
    // The last step asks for what it reads; what nobody asked for comes then.
    for (int32_t i = chain.count; i-- > 0;)
      complete(i, blocksOf(i));
  }

private:
  const PlanStep &step(int32_t i) const {
    return plan.steps[size_t(chain.first + i)];
  }
  const Task &task(int32_t i) const { return plan.tasks[size_t(step(i).task)]; }
  const Kernel &kernel(int32_t i) const {
    return kernels[size_t(step(i).task)];
  }

  /// Parts of equal height that a step runs in.
  int64_t blocksOf(int32_t i) const {
    if (kernel(i).stages.size() != 1)
      return 1;
    const KernelStage &stage = kernel(i).stages[0];
    int64_t workers = std::min(threads, kernel(i).maxParallelism);
    int64_t chunks = stage.chunks / stage.rowBlocks;
    // As few blocks a part as give every worker a chunk.
    for (int64_t joined = 1; joined < stage.rowBlocks; ++joined)
      if (stage.rowBlocks % joined == 0 && joined * chunks >= workers)
        return stage.rowBlocks / joined;
    return 1;
  }

  /// Rows of operand `j` that blocks [0, end) of step i read.
  int64_t rowsRead(int32_t i, size_t j, int64_t end) const {
    const Operand &operand = task(i).operands[j];
    const BufferType &out = task(i).output().type;
    // Blocks are cut between pixels, not always between rows.
    int64_t width = out.dims[3];
    int64_t pixels = out.dims[2] * width / blocksOf(i) * end;
    int64_t rows = (pixels + width - 1) / width;
    if (operand.role == Role::Input) {
      const Window &window = task(i).windows[0];
      rows = (rows - 1) * window.stride - window.padBegin +
             (window.kernel - 1) * window.dilation + 1;
    }
    return std::clamp<int64_t>(rows, 0, operand.type.dims[2]);
  }

  /// Runs the first `blocks` of step i, as far as they have not run.
  void complete(int32_t i, int64_t blocks) {
    while (done[size_t(i)] < blocks) {
      int64_t block = done[size_t(i)];
      for (size_t j = 0; j + 1 < step(i).operands.size(); ++j)
        for (int32_t writer = 0; writer < i; ++writer) {
          if (step(i).operands[j] != step(writer).operands.back())
            continue;
          int64_t height = task(writer).output().type.dims[2];
          int64_t rows = rowsRead(i, j, block + 1);
          complete(writer, (rows * blocksOf(writer) + height - 1) / height);
        }
      emit(i, block);
      ++done[size_t(i)];
    }
  }

  void emit(int32_t i, int64_t block) {
    int32_t index = chain.first + i;
    int64_t blocks = blocksOf(i);
    if (blocks == 1) {
      parts.push_back({index, 0, 0});
      return;
    }
    int64_t chunks = kernel(i).stages[0].chunks / blocks;
    bool continues =
        !parts.empty() && parts.back().step == index &&
        parts.back().firstChunk + parts.back().chunks == block * chunks;
    if (continues)
      parts.back().chunks += chunks;
    else
      parts.push_back({index, block * chunks, chunks});
  }

  const Plan &plan;
  const std::vector<Kernel> &kernels;
  const PlanChain &chain;
  int64_t threads;
  std::vector<StepPart> &parts;
  std::vector<int64_t> done; ///< blocks of each step that have run
};

} // namespace

std::vector<StepPart> stepParts(const Plan &plan,
                                const std::vector<Kernel> &kernels,
                                int64_t threads) {
  std::vector<StepPart> parts;
  size_t next = 0;
  for (int32_t i = 0; i < int32_t(plan.steps.size());) {
    // With several workers the barriers between parts cost what the chain
    // saves.
    bool starts = threads == 1 && next < plan.chains.size() &&
                  plan.chains[next].first == i;
    if (starts) {
      const PlanChain &chain = plan.chains[next++];
      ChainOrder(plan, kernels, chain, threads, parts).run();
      i += chain.count;
    } else {
      parts.push_back({i++, 0, 0});
    }
  }
  return parts;
}

} // namespace tlm
