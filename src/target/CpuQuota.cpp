//===- CpuQuota.cpp - CPUs that a control group grants --------------------===//

#include "target/CpuQuota.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tlm {
namespace {

std::optional<int64_t> ceilCpus(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0)
    return std::nullopt;
  return std::max<int64_t>(1, (quota + period - 1) / period);
}

/// v2: one file "max 100000" or "150000 100000".
std::optional<int64_t> readV2(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0;
  if (!(file >> quota >> period) || quota == "max")
    return std::nullopt;
  return ceilCpus(std::atoll(quota.c_str()), period);
}

/// v1: two files, quota -1 when there is none.
std::optional<int64_t> readV1(const std::string &folder) {
  std::ifstream quotaFile(folder + "/cpu.cfs_quota_us");
  std::ifstream periodFile(folder + "/cpu.cfs_period_us");
  int64_t quota = 0, period = 0;
  if (!(quotaFile >> quota) || !(periodFile >> period))
    return std::nullopt;
  return ceilCpus(quota, period);
}

void tighten(std::optional<int64_t> &limit, std::optional<int64_t> other) {
  if (other)
    limit = limit ? std::min(*limit, *other) : *other;
}

template <typename Read>
void walkUp(std::optional<int64_t> &limit, const std::string &mount,
            std::string path, Read read) {
  while (!path.empty() && path != "/") {
    tighten(limit, read(mount + path));
    path.resize(path.rfind('/'));
  }
  tighten(limit, read(mount));
}

bool listsCpu(const std::string &controllers) {
  std::istringstream words(controllers);
  for (std::string word; std::getline(words, word, ',');)
    if (word == "cpu")
      return true;
  return false;
}

} // namespace

std::optional<int64_t> cgroupCpus(const std::string &procCgroup,
                                  const std::string &mount) {
  std::optional<int64_t> limit;
  std::istringstream lines(procCgroup);
  for (std::string line; std::getline(lines, line);) {
    // "4:cpu,cpuacct:/group", or "0::/group" for v2.
    size_t first = line.find(':');
    size_t second =
        first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/')
      continue;
    if (controllers.empty())
      walkUp(limit, mount, path, readV2);
    else if (listsCpu(controllers))
      for (const std::string &folder : {controllers, std::string("cpu")})
        walkUp(limit, mount + "/" + folder, path, readV1);
  }
  return limit;
}

} // namespace tlm
