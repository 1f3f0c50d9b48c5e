//===- PackedBatch.h - groups side by side in one array ---------*- C++ -*-===//
//
// What a training step computes with. The branches of a group are filled up to
// the longest one's length, so that a group is a matrix of branches behind a
// prompt; positions restart behind the prompt in every branch. Nothing is
// filled between groups.
//
// Plain C++17, because libtorch's headers are included beside it.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_TRAIN_PACKEDBATCH_H
#define TLM_TRAIN_PACKEDBATCH_H

#include <cstdint>
#include <vector>

namespace tlm {

struct PackedGroup {
  int64_t begin = 0;    ///< first row
  int64_t prompt = 0;   ///< rows of the prompt
  int64_t branches = 0; ///< number of branches ...
  int64_t length = 0;   ///< ... of so many rows each
};

struct PackedBatch {
  std::vector<int64_t> tokens;    ///< (rows)
  std::vector<int64_t> positions; ///< (rows)
  std::vector<PackedGroup> groups;
  /// Rows with something to learn, and the token that comes after each.
  std::vector<int64_t> lossRows, targets;
};

} // namespace tlm

#endif // TLM_TRAIN_PACKEDBATCH_H
