//===- Quality.h - how good a schedule is -----------------------*- C++ -*-===//
//
// The share best-known time / own time, in buckets that are fine near 1. Before
// an answer ([Q] q0.99) a bucket asks for schedules that good; after [EOS] the
// model says the bucket of what it wrote.
//
//===----------------------------------------------------------------------===//

#ifndef TLM_LANG_QUALITY_H
#define TLM_LANG_QUALITY_H

#include "lang/TokenReader.h"

#include <iterator>
#include <optional>

namespace tlm {

/// Lower ends of the buckets, the best first.
inline constexpr double kQualityBounds[] = {0.99, 0.97, 0.95, 0.9, 0.8, 0.7,
                                            0.6,  0.5,  0.35, 0.2, 0.1, 0};
inline constexpr int kQualityBuckets = int(std::size(kQualityBounds));

/// A bucket, 0 the best, or nothing where it is not known: [?].
using Quality = std::optional<int>;

/// The bucket of a share; of one above 1, the best, of one below 0 or NaN, the
/// last.
int qualityBucket(double share);
/// The middle of a bucket.
double qualityShare(int bucket);
Token qualityToken(Quality quality);
/// Takes the next word when it is a bucket or [?].
bool takeQuality(TokenReader &reader, Quality &quality);

/// The words of buckets, for neededWords().
std::vector<std::string> neededQualityWords();

} // namespace tlm

#endif // TLM_LANG_QUALITY_H
