/*===- Hash.h - the hash of plans and weights -------------------------------===
 *
 * 64 bits, for damage and mix-ups, not against an adversary. Part of the
 * format: changing it needs a new TLM_FORMAT_VERSION.
 *
 *===------------------------------------------------------------------------===*/

#ifndef TLM_RUNTIME_HASH_H
#define TLM_RUNTIME_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Weights are hashed in blocks of this size, then the blocks' hashes in order,
 * so that threads can share the work. */
#define TLM_HASH_BLOCK_BYTES ((size_t)1 << 20)

static inline uint64_t tlmHashWord(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ (hash >> 29);
}

static inline uint64_t tlmHash(uint64_t seed, const void *data, size_t size) {
  const unsigned char *bytes = (const unsigned char *)data;
  uint64_t hash = tlmHashWord(seed, size), word;
  for (; size >= 8; size -= 8, bytes += 8) {
    memcpy(&word, bytes, 8);
    hash = tlmHashWord(hash, word);
  }
  word = 0;
  memcpy(&word, bytes, size);
  return tlmHashWord(hash, word);
}

#endif /* TLM_RUNTIME_HASH_H */
