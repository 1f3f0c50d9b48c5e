#include "space/rules/Choices.h"

#include <algorithm>
#include <numeric>

namespace tlm {

std::vector<int64_t> upTo(int64_t most) {
  std::vector<int64_t> values(size_t(std::max<int64_t>(0, most)));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) {
      low.push_back(d);
      if (d * d != n)
        high.push_back(n / d);
    }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::vector<int64_t> chunkTiles(int64_t extent, int64_t most) {
  std::vector<int64_t> tiles = divisors(extent);
  std::erase_if(tiles, [&](int64_t tile) {
    return tile != extent && extent / tile > most;
  });
  return tiles;
}

void keepWithin(std::vector<int64_t> &choices, int64_t most) {
  most = std::max(most, choices.front());
  std::erase_if(choices, [&](int64_t choice) { return choice > most; });
}

std::vector<int64_t> balancedTileSizes(int64_t extent, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= std::min(extent, most); ++size) {
    int64_t tiles = (extent + size - 1) / size;
    if ((extent + tiles - 1) / tiles == size)
      sizes.push_back(size);
  }
  return sizes;
}

int64_t mostTileWidth(int64_t row, int64_t registers) {
  return std::max<int64_t>((registers - 1 - row) / row,
                           row + 2 <= registers ? 1 : 0);
}

std::vector<int64_t> registerRows(int64_t vectors, int64_t registers) {
  std::vector<int64_t> rows = divisors(vectors);
  std::erase_if(rows,
                [&](int64_t row) { return mostTileWidth(row, registers) < 1; });
  return rows;
}

} // namespace tlm
