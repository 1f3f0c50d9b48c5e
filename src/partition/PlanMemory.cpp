//===- PlanMemory.cpp -----------------------------------------------------===//

#include "partition/Lifetimes.h"

#include <algorithm>
#include <map>

namespace tlm {

static constexpr int64_t kAlignment = 64;
/// Of L1; an offset is a whole number of lines.
static constexpr int64_t kLineBytes = kAlignment;
/// From here on a border costs less than memory that nobody else uses. With
/// several workers such memory comes from another one's cache:
/// docs/rationale/011.
static int64_t sharedBorderBytes(int64_t workers) {
  return workers > 1 ? 1 << 20 : 256 << 10;
}

static int64_t alignedBytes(const PlanBuffer &buffer) {
  return (buffer.type.sizeBytes() + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<Lifetime> lifetimesOf(const Plan &plan) {
  std::vector<Lifetime> lifetimes(plan.buffers.size());
  for (size_t i = 0; i < plan.steps.size(); ++i)
    for (int32_t operand : plan.steps[i].operands) {
      Lifetime &lifetime = lifetimes[size_t(rootOf(plan, operand))];
      if (lifetime.empty())
        lifetime.first = int32_t(i);
      lifetime.last = int32_t(i);
    }
  for (const PlanChain &chain : plan.chains)
    for (Lifetime &lifetime : lifetimes) {
      Lifetime whole = {chain.first, chain.first + chain.count - 1};
      if (lifetime.empty() || !lifetime.overlaps(whole))
        continue;
      lifetime.first = std::min(lifetime.first, whole.first);
      lifetime.last = std::max(lifetime.last, whole.last);
    }
  return lifetimes;
}

namespace {
struct Placed {
  int64_t begin, end;
  Lifetime lifetime;
};
} // namespace

/// The border of a slot is written once, so only buffers that agree on where
/// it is may share the slot. Interval colouring by first use is optimal.
static int64_t placeBordered(Plan &plan, const std::vector<int32_t> &bordered,
                             const std::vector<Lifetime> &lifetimes) {
  struct Slot {
    int64_t offset;
    int32_t last;
  };
  std::map<std::string, std::vector<Slot>> slots;
  int64_t end = 0;
  for (int32_t index : bordered) {
    PlanBuffer &buffer = plan.buffers[size_t(index)];
    const Lifetime &lifetime = lifetimes[size_t(index)];
    std::vector<Slot> &sameType = slots[buffer.type.text()];
    auto slot = std::find_if(
        sameType.begin(), sameType.end(),
        [&lifetime](const Slot &slot) { return slot.last < lifetime.first; });
    if (slot == sameType.end()) {
      slot = sameType.insert(slot, {end, -1});
      end += alignedBytes(buffer);
    }
    slot->last = lifetime.last;
    buffer.offset = slot->offset;
  }
  return end;
}

/// Per buffer, those of the same steps whose panels lie as far apart: where a
/// pixel is an even number of lines, 16 channels of all pixels are every other
/// line, which are half of L1's sets.
static std::vector<std::vector<int32_t>> rivalsOf(const Plan &plan) {
  std::vector<std::vector<int32_t>> rivals(plan.buffers.size());
  auto isEven = [](const BufferType &type) {
    int64_t pixel = type.channelStride * int64_t(sizeOf(type.dtype));
    return type.layout == Layout::Nhwc && pixel % (2 * kLineBytes) == 0;
  };
  for (const PlanStep &step : plan.steps)
    for (int32_t i : step.operands)
      for (int32_t j : step.operands) {
        int32_t a = rootOf(plan, i), b = rootOf(plan, j);
        const BufferType &type = plan.buffers[size_t(a)].type;
        const PlanBuffer &other = plan.buffers[size_t(b)];
        if (a != b && other.kind == BufferKind::Arena && isEven(type) &&
            isEven(other.type) &&
            type.channelStride == other.type.channelStride)
          rivals[size_t(a)].push_back(b);
      }
  return rivals;
}

/// What an offset is modulo two lines so that most of the rivals that have a
/// place use the other half of the sets; -1 where it does not matter.
static int64_t phaseFor(const Plan &plan, const std::vector<int32_t> &rivals) {
  int64_t evenMinusOdd = 0;
  for (int32_t rival : rivals) {
    int64_t offset = plan.buffers[size_t(rival)].offset;
    if (offset >= 0)
      evenMinusOdd += offset % (2 * kLineBytes) == 0 ? 1 : -1;
  }
  return evenMinusOdd == 0 ? -1 : evenMinusOdd > 0 ? kLineBytes : 0;
}

/// The smallest gap between the neighbours in time that holds `bytes` from an
/// offset of that phase on.
static int64_t bestOffset(const std::vector<Placed> &placed,
                          const Lifetime &lifetime, int64_t bytes,
                          int64_t begin, int64_t phase) {
  auto inPhase = [phase](int64_t offset) {
    bool isOff = phase >= 0 && offset % (2 * kLineBytes) != phase;
    return isOff ? offset + kLineBytes : offset;
  };
  int64_t best = -1, bestGap = 0, free = inPhase(begin);
  for (const Placed &other : placed) { // sorted by begin
    if (!other.lifetime.overlaps(lifetime))
      continue;
    int64_t gap = other.begin - free;
    if (gap >= bytes && (best < 0 || gap < bestGap)) {
      best = free;
      bestGap = gap;
    }
    free = std::max(free, inPhase(other.end));
  }
  return best < 0 ? free : best;
}

static bool overlap(const PlanBuffer &a, const PlanBuffer &b) {
  return a.offset < b.offset + alignedBytes(b) &&
         b.offset < a.offset + alignedBytes(a);
}

void planMemory(Plan &plan, int64_t workers) {
  std::vector<Lifetime> lifetimes = lifetimesOf(plan);
  std::vector<int32_t> bordered, others;
  plan.naiveBytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    PlanBuffer &buffer = plan.buffers[i];
    buffer.borderEveryRun = false;
    buffer.offset = -1;
    if (buffer.kind != BufferKind::Arena || buffer.aliasOf >= 0)
      continue;
    plan.naiveBytes += alignedBytes(buffer);
    bool keepsBorder = !buffer.type.border.empty() &&
                       alignedBytes(buffer) < sharedBorderBytes(workers);
    (keepsBorder ? bordered : others).push_back(int32_t(i));
  }
  std::sort(bordered.begin(), bordered.end(), [&](int32_t a, int32_t b) {
    return std::pair(lifetimes[size_t(a)].first, a) <
           std::pair(lifetimes[size_t(b)].first, b);
  });
  int64_t begin = placeBordered(plan, bordered, lifetimes);
  plan.arenaBytes = begin;

  std::sort(others.begin(), others.end(), [&](int32_t a, int32_t b) {
    return std::pair(-alignedBytes(plan.buffers[size_t(a)]), a) <
           std::pair(-alignedBytes(plan.buffers[size_t(b)]), b);
  });
  std::vector<std::vector<int32_t>> rivals = rivalsOf(plan);
  std::vector<Placed> placed;
  for (int32_t index : others) {
    PlanBuffer &buffer = plan.buffers[size_t(index)];
    int64_t bytes = alignedBytes(buffer);
    const Lifetime &lifetime = lifetimes[size_t(index)];
    buffer.offset = bestOffset(placed, lifetime, bytes, begin,
                               phaseFor(plan, rivals[size_t(index)]));
    Placed entry{buffer.offset, buffer.offset + bytes, lifetime};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed &a, const Placed &b) {
                                     return a.begin < b.begin;
                                   }),
                  entry);
    plan.arenaBytes = std::max(plan.arenaBytes, entry.end);
  }
  for (int32_t index : others) {
    PlanBuffer &buffer = plan.buffers[size_t(index)];
    buffer.borderEveryRun =
        !buffer.type.border.empty() &&
        std::any_of(others.begin(), others.end(), [&](int32_t other) {
          return other != index && overlap(buffer, plan.buffers[size_t(other)]);
        });
  }
  for (PlanBuffer &buffer : plan.buffers)
    if (buffer.kind == BufferKind::Arena && buffer.aliasOf >= 0)
      buffer.offset = plan.buffers[size_t(buffer.aliasOf)].offset;
}

} // namespace tlm
