//===- BatchOrder.h - which groups a step learns from -----------*- C++ -*-===//

#ifndef TLM_TRAIN_BATCHORDER_H
#define TLM_TRAIN_BATCHORDER_H

#include "train/PackedBatch.h"
#include "train/SentenceFile.h"

#include <cstdint>
#include <vector>

namespace tlm {

/// Where the data is being read; with the seed, all that is random about it.
struct DataCursor {
  int64_t epoch = 0;
  int64_t next = 0; ///< place in the epoch's order
  bool operator==(const DataCursor &) const = default;
};

/// Every epoch has all groups once, in an order drawn from seed and epoch. A
/// batch takes groups until it has `tokens` of them; it does not cross epochs.
class BatchOrder {
public:
  BatchOrder(const SentenceFile &file, uint64_t seed, int64_t tokens)
      : file(file), seed(seed), tokens(tokens) {}

  /// Groups of the batch at `cursor`, which moves behind it.
  std::vector<int64_t> next(DataCursor &cursor);

private:
  const SentenceFile &file;
  uint64_t seed;
  int64_t tokens;
  int64_t shuffled = -1; ///< the epoch of `order`
  std::vector<int64_t> order;
};

PackedBatch packGroups(const std::vector<SentenceGroup> &groups);

} // namespace tlm

#endif // TLM_TRAIN_BATCHORDER_H
