//===- NamedCpus.cpp - processors that --mcpu knows -----------------------===//

#include "target/x86/NamedCpus.h"

#include <algorithm>
#include <sstream>

namespace tlm::x86 {
namespace {

/// Features are those of `base` and the listed ones. Cache sizes are per core,
/// L3 what one socket or core complex shares at least.
struct NamedCpu {
  std::string_view name;
  std::string_view base;
  std::string_view features;
  int64_t l1dKiB, l2KiB, l3MiB;
};

constexpr NamedCpu kCpus[] = {
    {"x86-64-v2", "", "cx16 popcnt sse3 sse4.1 sse4.2 ssse3", 32, 256, 8},
    {"x86-64-v3", "x86-64-v2", "avx avx2 bmi bmi2 f16c fma lzcnt movbe", 32,
     512, 16},
    {"x86-64-v4", "x86-64-v3", "avx512bw avx512cd avx512dq avx512f avx512vl",
     32, 1024, 16},
    {"haswell", "x86-64-v3", "", 32, 256, 16},
    {"broadwell", "haswell", "", 32, 256, 16},
    {"skylake", "haswell", "", 32, 256, 8},
    {"skylake-avx512", "x86-64-v4", "", 32, 1024, 16},
    {"cascadelake", "skylake-avx512", "avx512vnni", 32, 1024, 16},
    {"icelake-server", "cascadelake",
     "avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vpopcntdq", 48, 1280,
     24},
    {"sapphirerapids", "icelake-server", "avx512bf16 avx512fp16 avxvnni", 48,
     2048, 32},
    {"emeraldrapids", "sapphirerapids", "", 48, 2048, 32},
    {"graniterapids", "sapphirerapids", "", 48, 2048, 32},
    {"znver2", "x86-64-v3", "", 32, 512, 16},
    {"znver3", "x86-64-v3", "", 32, 512, 32},
    {"znver4", "x86-64-v4",
     "avx512bf16 avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vnni "
     "avx512vpopcntdq",
     32, 1024, 32},
    {"znver5", "znver4", "avxvnni", 48, 1024, 32},
};

const NamedCpu *find(std::string_view name) {
  for (const NamedCpu &cpu : kCpus)
    if (cpu.name == name)
      return &cpu;
  return nullptr;
}

} // namespace

std::optional<Target> namedCpu(std::string_view name) {
  const NamedCpu *cpu = find(name);
  if (!cpu)
    return std::nullopt;
  Target target;
  target.cpu = name;
  target.l1dBytes = cpu->l1dKiB << 10;
  target.l2Bytes = cpu->l2KiB << 10;
  target.l3Bytes = cpu->l3MiB << 20;
  for (const NamedCpu *c = cpu; c; c = find(c->base)) {
    std::istringstream words{std::string(c->features)};
    for (std::string word; words >> word;)
      target.features.push_back(word);
  }
  std::sort(target.features.begin(), target.features.end());
  deriveVectorShape(target);
  return target;
}

std::vector<std::string> namedCpus() {
  std::vector<std::string> names;
  for (const NamedCpu &cpu : kCpus)
    names.emplace_back(cpu.name);
  return names;
}

void deriveVectorShape(Target &target) {
  auto has = [&](std::string_view feature) {
    return std::binary_search(target.features.begin(), target.features.end(),
                              feature);
  };
  bool wide =
      has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  target.vectorBits = wide ? 512 : has("avx") ? 256 : 128;
  target.vectorRegisters = wide ? 32 : 16;
}

} // namespace tlm::x86
