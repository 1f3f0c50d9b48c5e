//===- CpuQuota.h - CPUs that a control group grants ------------*- C++ -*-===//

#ifndef TLM_TARGET_CPUQUOTA_H
#define TLM_TARGET_CPUQUOTA_H

#include <cstdint>
#include <optional>
#include <string>

namespace tlm {

/// Whole CPUs (rounded up) of the tightest quota between the process's group
/// and the root, for cgroup v1 and v2; nothing when there is no quota.
/// `procCgroup` is the text of /proc/self/cgroup; `mount` is where the
/// hierarchies are mounted (/sys/fs/cgroup).
std::optional<int64_t> cgroupCpus(const std::string &procCgroup,
                                  const std::string &mount);

} // namespace tlm

#endif // TLM_TARGET_CPUQUOTA_H
