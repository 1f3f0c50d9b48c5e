//===- Quality.cpp --------------------------------------------------------===//

#include "lang/Quality.h"

#include "base/Check.h"
#include "base/NumberText.h"

namespace tlm {

int qualityBucket(double share) {
  for (int bucket = 0; bucket < kQualityBuckets; ++bucket)
    if (share >= kQualityBounds[bucket])
      return bucket;
  return kQualityBuckets - 1;
}

double qualityShare(int bucket) {
  TLM_CHECK(bucket >= 0 && bucket < kQualityBuckets) << bucket;
  double above = bucket == 0 ? 1 : kQualityBounds[bucket - 1];
  return (above + kQualityBounds[bucket]) / 2;
}

Token qualityToken(Quality quality) {
  static const std::vector<Token> tokens = [] {
    std::vector<Token> all;
    for (const std::string &word : neededQualityWords())
      all.push_back(Vocabulary::get().at(word));
    return all;
  }();
  if (!quality)
    return kUnknown;
  TLM_CHECK(*quality >= 0 && *quality < kQualityBuckets) << *quality;
  return tokens[size_t(*quality)];
}

bool takeQuality(TokenReader &reader, Quality &quality) {
  if (reader.take(kUnknown)) {
    quality.reset();
    return true;
  }
  for (int bucket = 0; bucket < kQualityBuckets; ++bucket)
    if (reader.take(qualityToken(bucket))) {
      quality = bucket;
      return true;
    }
  return false;
}

std::vector<std::string> neededQualityWords() {
  std::vector<std::string> words;
  for (double bound : kQualityBounds)
    words.push_back("q" + floatText(float(bound)));
  return words;
}

} // namespace tlm
