//===- FeatureSet.cpp - features that need each other ---------------------===//

#include "target/x86/FeatureSet.h"

#include <algorithm>
#include <string_view>

namespace tlm::x86 {
namespace {

struct Need {
  std::string_view feature, needs;
};

/// Direct needs among the features that kernels use, as LLVM implies them.
constexpr Need kNeeds[] = {
    {"ssse3", "sse3"},
    {"sse4.1", "ssse3"},
    {"sse4.2", "sse4.1"},
    {"avx", "sse4.2"},
    {"avx2", "avx"},
    {"f16c", "avx"},
    {"fma", "avx"},
    {"avxvnni", "avx2"},
    {"avx512f", "avx2"},
    {"avx512f", "f16c"},
    {"avx512f", "fma"},
    {"avx512bw", "avx512f"},
    {"avx512cd", "avx512f"},
    {"avx512dq", "avx512f"},
    {"avx512ifma", "avx512f"},
    {"avx512vl", "avx512f"},
    {"avx512vnni", "avx512f"},
    {"avx512vpopcntdq", "avx512f"},
    {"avx512bf16", "avx512bw"},
    {"avx512bitalg", "avx512bw"},
    {"avx512fp16", "avx512bw"},
    {"avx512vbmi", "avx512bw"},
    {"avx512vbmi2", "avx512bw"},
};

} // namespace

void addFeature(std::vector<std::string> &features,
                const std::string &feature) {
  auto at = std::lower_bound(features.begin(), features.end(), feature);
  if (at == features.end() || *at != feature)
    features.insert(at, feature);
  for (const Need &need : kNeeds)
    if (need.feature == feature)
      addFeature(features, std::string(need.needs));
}

void removeFeature(std::vector<std::string> &features,
                   const std::string &feature) {
  std::erase(features, feature);
  for (const Need &need : kNeeds)
    if (need.needs == feature)
      removeFeature(features, std::string(need.feature));
}

} // namespace tlm::x86
