#include "train/BatchOrder.h"

#include "base/Random.h"

#include <algorithm>
#include <numeric>

using namespace tlm;

std::vector<int64_t> BatchOrder::next(DataCursor &cursor) {
  if (cursor.next >= file.size())
    cursor = {cursor.epoch + 1, 0};
  if (shuffled != cursor.epoch) {
    shuffled = cursor.epoch;
    order.resize(size_t(file.size()));
    std::iota(order.begin(), order.end(), 0);
    Random random(Random(seed).next() + uint64_t(cursor.epoch));
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(i)]);
  }
  std::vector<int64_t> batch;
  for (int64_t left = tokens; left > 0 && cursor.next < file.size();) {
    batch.push_back(order[size_t(cursor.next++)]);
    left -= file.tokensOf(batch.back());
  }
  return batch;
}

PackedBatch tlm::packGroups(const std::vector<SentenceGroup> &groups) {
  PackedBatch batch;
  auto append = [&](int64_t token, int64_t position) {
    batch.tokens.push_back(token);
    batch.positions.push_back(position);
  };
  for (const SentenceGroup &group : groups) {
    PackedGroup packed;
    packed.begin = int64_t(batch.tokens.size());
    packed.prompt = int64_t(group.prompt.size());
    packed.branches = int64_t(group.branches.size());
    for (const Branch &branch : group.branches)
      packed.length = std::max(packed.length, int64_t(branch.tokens.size()));
    for (int64_t i = 0; i < packed.prompt; ++i)
      append(group.prompt[size_t(i)], i);
    for (const Branch &branch : group.branches) {
      auto count = int64_t(branch.tokens.size());
      for (int64_t i = 0; i < packed.length; ++i) {
        if (i + 1 >= branch.lossBegin && i + 1 < count) {
          batch.lossRows.push_back(int64_t(batch.tokens.size()));
          batch.targets.push_back(branch.tokens[size_t(i) + 1]);
        }
        // What fills up comes last, so that no other row sees it.
        append(i < count ? branch.tokens[size_t(i)] : 0, packed.prompt + i);
      }
    }
    batch.groups.push_back(packed);
  }
  return batch;
}
