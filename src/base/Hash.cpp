//===- Hash.cpp -----------------------------------------------------------===//

#include "base/Hash.h"

namespace tlm {

uint64_t hash64(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : bytes)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string hexText(uint64_t value) {
  std::string text(16, '0');
  for (size_t i = 0; i < 16; ++i)
    text[15 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15];
  return text;
}

std::string hash128Text(std::string_view bytes) {
  using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide(1) << 88) + 0x13b;
  Wide hash = (Wide(0x6c62272e07bb0142) << 64) + 0x62b821756295c58d;
  for (char c : bytes)
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hexText(uint64_t(hash >> 64)) + hexText(uint64_t(hash));
}

} // namespace tlm
