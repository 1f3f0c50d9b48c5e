//===- Choices.h - lists of choices that several rules offer ----*- C++ -*-===//

#ifndef TLM_SPACE_RULES_CHOICES_H
#define TLM_SPACE_RULES_CHOICES_H

#include <cstdint>
#include <vector>

namespace tlm {

/// 1, 2, ... most.
std::vector<int64_t> upTo(int64_t most);

/// All divisors, ascending.
std::vector<int64_t> divisors(int64_t n);

/// Divisors of `extent` that cut at most `most` chunks out of it; extent itself
/// always.
std::vector<int64_t> chunkTiles(int64_t extent, int64_t most);

/// Drops what is above `most`, but for the first.
void keepWithin(std::vector<int64_t> &choices, int64_t most);

/// Sizes of the largest tile when `extent` is cut into 1, 2, ... tiles of equal
/// size but for one iteration: the tiles of up to `most` that are different
/// kernels. Ascending, with 1 always.
std::vector<int64_t> balancedTileSizes(int64_t extent, int64_t most);

/// Pixels of a register tile beside `row` vectors in `registers`: accumulators,
/// weights and one input value. 0: not even one.
int64_t mostTileWidth(int64_t row, int64_t registers);

/// Divisors of `vectors` that a register tile of one pixel can hold.
std::vector<int64_t> registerRows(int64_t vectors, int64_t registers);

} // namespace tlm

#endif // TLM_SPACE_RULES_CHOICES_H
