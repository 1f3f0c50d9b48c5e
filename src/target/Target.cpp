//===- Target.cpp - what a machine is -------------------------------------===//

#include "target/Target.h"

#include "target/CpuQuota.h"
#include "target/x86/Cpuid.h"
#include "target/x86/NamedCpus.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <sstream>

namespace tlm {
namespace {

std::string joined(const std::vector<std::string> &words, char separator) {
  std::string text;
  for (const std::string &word : words) {
    if (!text.empty())
      text += separator;
    text += word;
  }
  return text;
}

/// CPUs of the affinity mask; the kernel's mask may be wider than cpu_set_t.
int64_t affinityCpus() {
  for (int size = CPU_SETSIZE; size <= (1 << 20); size *= 2) {
    cpu_set_t *mask = CPU_ALLOC(size);
    size_t bytes = CPU_ALLOC_SIZE(size);
    bool ok = mask && sched_getaffinity(0, bytes, mask) == 0;
    int count = ok ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (ok)
      return count;
  }
  return 1;
}

} // namespace

std::string Target::featureString() const {
  std::string text;
  for (std::string_view known : x86::knownFeatures())
    if (!std::binary_search(features.begin(), features.end(), known))
      text.append(text.empty() ? "-" : ",-").append(known);
  for (const std::string &feature : features)
    text.append(text.empty() ? "+" : ",+").append(feature);
  return text;
}

std::string Target::text() const {
  std::ostringstream out;
  out << triple << " cpu=" << cpu << " features=" << joined(features, ',')
      << " l1d=" << l1dBytes << " l2=" << l2Bytes << " l3=" << l3Bytes;
  return out.str();
}

Target hostTarget() {
  Target target;
  target.features = x86::detectFeatures(/*codegenOnly=*/true);
  x86::deriveVectorShape(target);
  target.cpu = x86::detectCpu();
  if (target.cpu.empty())
    target.cpu = target.vectorBits == 512   ? "x86-64-v4"
                 : target.vectorBits == 256 ? "x86-64-v3"
                                            : "x86-64-v2";
  x86::CacheSizes caches = x86::detectCaches();
  if (caches.l1dBytes)
    target.l1dBytes = caches.l1dBytes;
  if (caches.l2Bytes)
    target.l2Bytes = caches.l2Bytes;
  if (caches.l3Bytes)
    target.l3Bytes = caches.l3Bytes;
  target.threads = usableCpus();
  return target;
}

Result<Target> targetFor(const std::string &mcpu) {
  if (mcpu == "host" || mcpu == "native")
    return hostTarget();
  std::optional<Target> named = x86::namedCpu(mcpu);
  if (!named)
    return makeError("unknown processor '" + mcpu + "'; known: host " +
                         joined(x86::namedCpus(), ' '),
                     {}, ErrorCode::Usage);
  named->threads = usableCpus();
  return *named;
}

std::string missingFeature(const Target &target) {
  std::vector<std::string> here = x86::detectFeatures(/*codegenOnly=*/false);
  for (const std::string &feature : target.features)
    if (!std::binary_search(here.begin(), here.end(), feature))
      return feature;
  return {};
}

int64_t usableCpus() {
  int64_t cpus = affinityCpus();
  std::ifstream file("/proc/self/cgroup");
  std::stringstream text;
  text << file.rdbuf();
  if (std::optional<int64_t> quota = cgroupCpus(text.str(), "/sys/fs/cgroup"))
    cpus = std::min(cpus, *quota);
  return std::max<int64_t>(1, cpus);
}

} // namespace tlm
