//===- Cpuid.h - what an x86 processor says of itself -----------*- C++ -*-===//

#ifndef TLM_TARGET_X86_CPUID_H
#define TLM_TARGET_X86_CPUID_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tlm::x86 {

/// Every feature of Features.def, LLVM's names, sorted.
std::vector<std::string_view> knownFeatures();

/// Those of knownFeatures() that this processor has and the operating system
/// saves the registers of. `codegenOnly`: those that kernels may use.
std::vector<std::string> detectFeatures(bool codegenOnly);

/// LLVM's name of the processor from family and model, or "" when unknown.
/// Good for scheduling models only: under a hypervisor it says nothing about
/// the features.
std::string detectCpu();

/// The marketing name: "AMD EPYC 9755 128-Core Processor".
std::string detectBrand();

struct CacheSizes {
  int64_t l1dBytes = 0, l2Bytes = 0, l3Bytes = 0; ///< 0 = not told
};
CacheSizes detectCaches();

/// The name for family and model as cpuid leaf 1 encodes them in eax (with the
/// vendor of leaf 0), and the features that tell steppings apart.
std::string cpuName(std::string_view vendor, uint32_t signature,
                    const std::vector<std::string> &features);

} // namespace tlm::x86

#endif // TLM_TARGET_X86_CPUID_H
