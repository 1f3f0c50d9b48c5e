//===- Hash.h - the hash of stored keys -------------------------*- C++ -*-===//
//
// FNV-1a: the same value on every platform, for ever, because records and
// artifacts store it. For short texts; not against an adversary.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_BASE_HASH_H
#define TLM_BASE_HASH_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tlm {

uint64_t hash64(std::string_view bytes);

/// 16 lower-case hex digits.
std::string hexText(uint64_t value);

/// The 128-bit form, as 32 lower-case hex digits: an identity among millions.
std::string hash128Text(std::string_view bytes);

} // namespace tlm

#endif // TLM_BASE_HASH_H
