//===- Random.h - the generator of seeded draws -----------------*- C++ -*-===//
//
// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for a seed on every
// platform, for ever; what std's distributions yield depends on the library.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_RANDOM_H
#define TLM_BASE_RANDOM_H

#include <cstdint>

namespace tlm {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, count), but for a bias of at most count / 2^64.
  uint64_t below(uint64_t count) {
    return uint64_t((static_cast<unsigned __int128>(next()) * count) >> 64);
  }

private:
  uint64_t state;
};

} // namespace tlm

#endif // TLM_BASE_RANDOM_H
