//===- FeatureSet.h - features that need each other -------------*- C++ -*-===//

#ifndef TLM_TARGET_X86_FEATURESET_H
#define TLM_TARGET_X86_FEATURESET_H

#include <string>
#include <vector>

namespace tlm::x86 {

/// Adds `feature` and everything it needs to a sorted list: avx512f brings
/// avx2, fma and f16c.
void addFeature(std::vector<std::string> &features, const std::string &feature);

/// Removes `feature` and everything that needs it: without avx512f there is no
/// avx512bw, which LLVM would otherwise take as a wish for both.
void removeFeature(std::vector<std::string> &features,
                   const std::string &feature);

} // namespace tlm::x86

#endif // TLM_TARGET_X86_FEATURESET_H
