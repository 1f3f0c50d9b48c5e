//===- Target.h - what a machine is -----------------------------*- C++ -*-===//

#ifndef TLM_TARGET_TARGET_H
#define TLM_TARGET_TARGET_H

#include "base/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tlm {

struct Target {
  std::string triple = "x86_64-unknown-linux-gnu";
  /// LLVM's name: "znver5", "x86-64-v3", ...
  std::string cpu;
  /// LLVM features that generated code may use, without '+', sorted:
  /// "avx2", "avx512f", "fma", ... They go into the artifact's manifest and are
  /// checked against cpuid before any generated code runs.
  std::vector<std::string> features;
  int64_t vectorBits = 256;
  int64_t vectorRegisters = 16;
  int64_t l1dBytes = 32 << 10, l2Bytes = 512 << 10, l3Bytes = 16 << 20;
  /// Workers the schedules are made for (compile-time --threads).
  int64_t threads = 1;

  /// Images from this size on leave L2 before the next kernel reads them, and
  /// are handed on stripe by stripe.
  int64_t stripedBytes() const { return l2Bytes / 2; }
  int64_t vectorFloats() const { return vectorBits / 32; }
  /// LLVM's feature string, for any CPU name beside it: first "-amx-tile,..."
  /// for every known feature that is not in the list (a CPU name implies
  /// features that a hypervisor may hide), then "+avx2,+fma,...".
  std::string featureString() const;
  /// Stable text for keys: cpu, features, cache sizes.
  std::string text() const;
};

/// This machine: features from cpuid and XGETBV (never from the CPU's name),
/// caches from cpuid, threads from usableCpus().
Target hostTarget();

/// "host", "x86-64-v3", "x86-64-v4", or a CPU name of the table (znver3,
/// znver4, znver5, haswell, skylake-avx512, icelake-server, sapphirerapids
/// ...).
Result<Target> targetFor(const std::string &mcpu);

/// The first feature of `target` that this machine lacks; empty when what is
/// compiled for it runs here.
std::string missingFeature(const Target &target);

/// CPUs this process may use: min of the affinity mask and the cgroup quota,
/// rounded up; at least 1.
int64_t usableCpus();

} // namespace tlm

#endif // TLM_TARGET_TARGET_H
