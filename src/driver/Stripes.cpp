#include "driver/Stripes.h"

#include <algorithm>

namespace tlm {

namespace {

/// Blocks [begin, end) of a step.
struct Blocks {
  int64_t begin = 0, end = 0;
};

/// What shares are cut from.
enum class Cut { Rows, Channels };

/// One chain, cut into blocks of rows or channels and shares of workers.
class ChainOrder {
public:
  ChainOrder(const Plan &plan, const std::vector<Kernel> &kernels,
             const PlanChain &chain, int64_t shares, Cut cut)
      : plan(plan), kernels(kernels), chain(chain), shares(shares), cut(cut) {
    for (int32_t i = 0; i < chain.count; ++i) {
      const KernelStage &stage = kernel(i).stages[0];
      blocks.push_back(cut == Cut::Rows ? stage.rowBlocks
                                        : stage.channelBlocks);
      done.emplace_back(size_t(blocks.back()), false);
    }
  }

  /// Whether no share waits for another one.
  bool isApart() const {
    for (const std::vector<bool> &step : crossings())
      if (std::count(step.begin(), step.end(), true))
        return false;
    return true;
  }

  /// Appends the chain's phases; false when most of it would be barriers.
  bool run(std::vector<StepPhase> &phases) {
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
    StepPhase phase;
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
    int64_t count = blocks[size_t(writer)];
    bool isImage = operand.role == Role::Input || operand.type.dims == out.dims;
    if (!isImage)
      return {0, count};
    if (cut == Cut::Channels) {
      if (task(i).kind == TaskKind::Conv && operand.role == Role::Input)
        return {0, count};
      int64_t of = blocks[size_t(i)];
      return {b * count / of, ((b + 1) * count + of - 1) / of};
    }
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
    int64_t height = operand.type.dims[2];
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
  Cut cut;
  std::vector<int64_t> blocks;         ///< of each step
  std::vector<std::vector<bool>> done; ///< per step and block
};

/// Whether every worker may own as large a share of each step as the others.
bool hasShares(const Plan &plan, const std::vector<Kernel> &kernels,
               const PlanChain &chain, int64_t shares, Cut cut) {
  for (int32_t i = chain.first; i < chain.first + chain.count; ++i) {
    const PlanStep &step = plan.steps[size_t(i)];
    const std::vector<KernelStage> &stages = kernels[size_t(step.task)].stages;
    if (!keepsRows(plan.tasks[size_t(step.task)]) || stages.size() != 1)
      return false;
    bool byChannels = cut == Cut::Channels;
    int64_t blocks = byChannels ? stages[0].channelBlocks : stages[0].rowBlocks;
    if (blocks < shares || (byChannels && blocks != stages[0].chunks) ||
        (blocks % shares && blocks < 8 * shares))
      return false;
  }
  return true;
}

/// Appends the chain's phases; false where it does not pay to interleave it.
bool order(const Plan &plan, const std::vector<Kernel> &kernels,
           const PlanChain &chain, int64_t threads,
           std::vector<StepPhase> &phases) {
  for (Cut cut : {Cut::Rows, Cut::Channels})
    if (hasShares(plan, kernels, chain, threads, cut) &&
        ChainOrder(plan, kernels, chain, threads, cut).run(phases))
      return true;
  return false;
}

/// The longest run of steps [first, end) whose shares do not meet.
PlanChain runWithoutBarriers(const Plan &plan,
                             const std::vector<Kernel> &kernels, int32_t first,
                             int32_t end, int64_t threads) {
  PlanChain best = {first, 1};
  for (Cut cut : {Cut::Rows, Cut::Channels})
    for (PlanChain run = {first, 2}; first + run.count <= end; ++run.count) {
      if (!hasShares(plan, kernels, run, threads, cut) ||
          !ChainOrder(plan, kernels, run, threads, cut).isApart())
        break;
      best.count = std::max(best.count, run.count);
    }
  return best;
}

} // namespace

std::vector<PlanChain> chooseChains(const Plan &plan,
                                    const std::vector<Kernel> &kernels,
                                    int64_t threads, int64_t stripedBytes) {
  std::vector<PlanChain> striped, chosen;
  for (const PlanChain &chain : findChains(plan, stripedBytes)) {
    std::vector<StepPhase> phases;
    if (order(plan, kernels, chain, threads, phases))
      striped.push_back(chain);
  }
  auto end = int32_t(plan.steps.size());
  size_t next = 0;
  for (int32_t i = 0; i < end;) {
    PlanChain chain = {i, 1};
    int32_t stop = next < striped.size() ? striped[next].first : end;
    if (i == stop)
      chain = striped[next++];
    else if (threads > 1)
      chain = runWithoutBarriers(plan, kernels, i, stop, threads);
    if (chain.count > 1)
      chosen.push_back(chain);
    i += chain.count;
  }
  return chosen;
}

std::vector<StepPhase> phasesOf(const Plan &plan,
                                const std::vector<Kernel> &kernels,
                                int64_t threads) {
  std::vector<StepPhase> phases;
  size_t next = 0;
  for (int32_t i = 0; i < int32_t(plan.steps.size());) {
    if (next < plan.chains.size() && plan.chains[next].first == i) {
      const PlanChain &chain = plan.chains[next++];
      if (order(plan, kernels, chain, threads, phases)) {
        i += chain.count;
        continue;
      }
    }
    phases.push_back({{{{i++, 0, 0}}}, true});
  }
  return phases;
}

} // namespace tlm
