//===- Damaged.h - bytes with faults, for the fuzzers -----------*- C++ -*-===//

#ifndef TLM_BASE_DAMAGED_H
#define TLM_BASE_DAMAGED_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tlm {

/// `bytes` with some of them replaced, dropped or doubled, or their end cut
/// off: four bytes of `data` for each fault, so that a fuzzer gets far into a
/// format whose files it would not find.
inline std::string damaged(std::string bytes, const uint8_t *data,
                           size_t size) {
  for (size_t i = 0; i + 3 < size && !bytes.empty(); i += 4) {
    size_t at = (size_t(data[i]) | size_t(data[i + 1]) << 8) % bytes.size();
    uint8_t what = data[i + 2];
    auto length = size_t(data[i + 3] % 32 + 1);
    if (what < 192)
      bytes[at] = char(data[i + 3]);
    else if (what < 216)
      bytes.erase(at, length);
    else if (what < 248)
      bytes.insert(at, bytes.substr(at, length));
    else
      bytes.resize(at);
  }
  return bytes;
}

} // namespace tlm

#endif // TLM_BASE_DAMAGED_H
