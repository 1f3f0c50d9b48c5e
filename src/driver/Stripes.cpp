#include "driver/Stripes.h"

#include <algorithm>

namespace tlm {

namespace {

/// Blocks [begin, end) of a step.
struct Blocks {
  int64_t begin = 0, end = 0;
};

/// One chain, cut into blocks of rows and shares of workers.
class ChainOrder {
public:
  ChainOrder(const Plan &plan, const std::vector<Kernel> &kernels,
             const PlanChain &chain, int64_t shares)
      : plan(plan), kernels(kernels), chain(chain), shares(shares) {
    for (int32_t i = 0; i < chain.count; ++i) {
      blocks.push_back(kernel(i).stages[0].rowBlocks);
      done.emplace_back(size_t(blocks.back()), false);
    }
  }

  /// Appends the chain's phases; false when most of it would be barriers.
  bool run(std::vector<Phase> &phases) {
    std::vector<std::vector<bool>> first = crossings();
    int64_t early = 0, all = 0;
    for (const std::vector<bool> &step : first) {
      early += std::count(step.begin(), step.end(), true);
      all += int64_t(step.size());
    }
    if (2 * early > all)
      return false;
    for (int32_t i = 0; i < chain.count; ++i) {
      std::vector<StepPart> parts;
      for (int64_t b = 0; b < blocks[size_t(i)]; ++b)
        if (first[size_t(i)][size_t(b)]) {
          done[size_t(i)][size_t(b)] = true;
          append(parts, i, b);
        }
      for (const StepPart &part : parts)
        phases.push_back({{{part}}, true});
    }
    Phase phase;
    for (int64_t share = 0; share < shares; ++share) {
      std::vector<StepPart> parts;
      // The last step asks for what it reads; what nobody asked for comes then.
      for (int32_t i = chain.count; i-- > 0;)
        for (int64_t b = 0; b < blocks[size_t(i)]; ++b)
          if (shareOf(i, b) == share)
            complete(parts, i, b);
      phase.lists.push_back(std::move(parts));
    }
    phases.push_back(std::move(phase));
    return true;
  }

private:
  const PlanStep &step(int32_t i) const {
    return plan.steps[size_t(chain.first + i)];
  }
  const Task &task(int32_t i) const { return plan.tasks[size_t(step(i).task)]; }
  const Kernel &kernel(int32_t i) const {
    return kernels[size_t(step(i).task)];
  }

  int64_t shareOf(int32_t i, int64_t block) const {
    return (2 * block + 1) * shares / (2 * blocks[size_t(i)]);
  }

  /// Blocks of step `writer` that hold what block `b` of step i reads of
  /// operand `j`.
  Blocks read(int32_t i, int64_t b, size_t j, int32_t writer) const {
    const Operand &operand = task(i).operands[j];
    const BufferType &out = task(i).output().type;
    // Blocks are cut between pixels, not always between rows.
    int64_t width = out.dims[3];
    int64_t pixels = out.dims[2] * width / blocks[size_t(i)];
    int64_t begin = pixels * b / width;
    int64_t end = (pixels * (b + 1) + width - 1) / width;
    if (operand.role == Role::Input) {
      const Window &window = task(i).windows[0];
      begin = begin * window.stride - window.padBegin;
      end = (end - 1) * window.stride - window.padBegin +
            (window.kernel - 1) * window.dilation + 1;
    }
    int64_t height = operand.type.dims[2], count = blocks[size_t(writer)];
    begin = std::clamp<int64_t>(begin, 0, height);
    end = std::clamp<int64_t>(end, begin, height);
    return {begin * count / height, (end * count + height - 1) / height};
  }

  template <typename Visit>
  void forEachRead(int32_t i, int64_t b, Visit visit) const {
    for (size_t j = 0; j + 1 < step(i).operands.size(); ++j)
      for (int32_t writer = 0; writer < i; ++writer)
        if (step(i).operands[j] == step(writer).operands.back()) {
          Blocks needed = read(i, b, j, writer);
          for (int64_t block = needed.begin; block < needed.end; ++block)
            visit(writer, block);
        }
  }

  /// Per step and block: whether it reads from another share, or such a block
  /// depends on it.
  std::vector<std::vector<bool>> crossings() const {
    std::vector<std::vector<bool>> first;
    for (int64_t count : blocks)
      first.emplace_back(size_t(count), false);
    for (int32_t i = chain.count; i-- > 0;)
      for (int64_t b = 0; b < blocks[size_t(i)]; ++b) {
        bool crosses = first[size_t(i)][size_t(b)];
        forEachRead(i, b, [&](int32_t writer, int64_t block) {
          crosses |= shareOf(writer, block) != shareOf(i, b);
        });
        first[size_t(i)][size_t(b)] = crosses;
        if (crosses)
          forEachRead(i, b, [&](int32_t writer, int64_t block) {
            first[size_t(writer)][size_t(block)] = true;
          });
      }
    return first;
  }

  void complete(std::vector<StepPart> &parts, int32_t i, int64_t b) {
    if (done[size_t(i)][size_t(b)])
      return;
    done[size_t(i)][size_t(b)] = true;
    forEachRead(i, b, [&](int32_t writer, int64_t block) {
      complete(parts, writer, block);
    });
    append(parts, i, b);
  }

  void append(std::vector<StepPart> &parts, int32_t i, int64_t b) const {
    int32_t index = chain.first + i;
    int64_t chunks = kernel(i).stages[0].chunks / blocks[size_t(i)];
    bool continues =
        !parts.empty() && parts.back().step == index &&
        parts.back().firstChunk + parts.back().chunks == b * chunks;
    if (continues)
      parts.back().chunks += chunks;
    else
      parts.push_back({index, b * chunks, chunks});
  }

  const Plan &plan;
  const std::vector<Kernel> &kernels;
  const PlanChain &chain;
  int64_t shares;
  std::vector<int64_t> blocks;         ///< of each step
  std::vector<std::vector<bool>> done; ///< per step and block
};

/// How many workers may own a share; 0 where a kernel has stages that wait for
/// each other.
int64_t sharesOf(const Plan &plan, const std::vector<Kernel> &kernels,
                 const PlanChain &chain, int64_t threads) {
  int64_t shares = threads;
  for (int32_t i = chain.first; i < chain.first + chain.count; ++i) {
    const Kernel &kernel = kernels[size_t(plan.steps[size_t(i)].task)];
    if (kernel.stages.size() != 1)
      return 0;
    shares = std::min(shares, kernel.stages[0].rowBlocks);
  }
  return shares;
}

} // namespace

std::vector<Phase> phasesOf(const Plan &plan,
                            const std::vector<Kernel> &kernels,
                            int64_t threads) {
  std::vector<Phase> phases;
  size_t next = 0;
  for (int32_t i = 0; i < int32_t(plan.steps.size());) {
    if (next < plan.chains.size() && plan.chains[next].first == i) {
      const PlanChain &chain = plan.chains[next++];
      int64_t shares = sharesOf(plan, kernels, chain, threads);
      if (shares == threads &&
          ChainOrder(plan, kernels, chain, shares).run(phases)) {
        i += chain.count;
        continue;
      }
    }
    phases.push_back({{{{i++, 0, 0}}}, true});
  }
  return phases;
}

} // namespace tlm
