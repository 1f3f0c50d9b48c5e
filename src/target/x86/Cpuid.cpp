//===- Cpuid.cpp - what an x86 processor says of itself -------------------===//

#include "target/x86/Cpuid.h"

#include <algorithm>
#include <array>
#include <cpuid.h>
#include <cstring>

namespace tlm::x86 {
namespace {

enum Register { Eax = 0, Ebx = 1, Ecx = 2, Edx = 3 };
enum class State { None, Avx, Avx512, Amx };

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
  bool codegen;
};

constexpr Feature kFeatures[] = {
#define TLM_X86_FEATURE(name, leaf, subleaf, reg, bit, state, codegen)         \
  {name, leaf, subleaf, reg, bit, State::state, codegen},
#include "target/x86/Features.def"
};

using Registers = std::array<uint32_t, 4>;

/// Zeros for a leaf that the processor does not have.
Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r{};
  if (leaf <= __get_cpuid_max(leaf & 0x80000000u, nullptr))
    __cpuid_count(leaf, subleaf, r[Eax], r[Ebx], r[Ecx], r[Edx]);
  return r;
}

uint64_t xcr0() {
  if (!(cpuid(1, 0)[Ecx] >> 27 & 1)) // OSXSAVE
    return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool isSaved(State state, uint64_t saved) {
  auto all = [saved](uint64_t mask) { return (saved & mask) == mask; };
  switch (state) {
  case State::None:
    return true;
  case State::Avx:
    return all(0x6);
  case State::Avx512:
    return all(0xe6);
  case State::Amx:
    return all(0x60000);
  }
  return false;
}

std::string vendor() {
  Registers r = cpuid(0, 0);
  char text[12];
  std::memcpy(text, &r[Ebx], 4);
  std::memcpy(text + 4, &r[Edx], 4);
  std::memcpy(text + 8, &r[Ecx], 4);
  return std::string(text, sizeof(text));
}

struct Model {
  uint32_t family, first, last;
  std::string_view name;
};

constexpr Model kAmdModels[] = {
    {0x17, 0x00, 0x2f, "znver1"}, {0x17, 0x30, 0xff, "znver2"},
    {0x19, 0x00, 0x0f, "znver3"}, {0x19, 0x10, 0x1f, "znver4"},
    {0x19, 0x20, 0x5f, "znver3"}, {0x19, 0x60, 0x7f, "znver4"},
    {0x19, 0xa0, 0xaf, "znver4"}, {0x1a, 0x00, 0xff, "znver5"},
};

constexpr Model kIntelModels[] = {
    {6, 0x3c, 0x3c, "haswell"},        {6, 0x3d, 0x3d, "broadwell"},
    {6, 0x3f, 0x3f, "haswell"},        {6, 0x45, 0x46, "haswell"},
    {6, 0x47, 0x47, "broadwell"},      {6, 0x4e, 0x4e, "skylake"},
    {6, 0x4f, 0x4f, "broadwell"},      {6, 0x55, 0x55, "skylake-avx512"},
    {6, 0x56, 0x56, "broadwell"},      {6, 0x5e, 0x5e, "skylake"},
    {6, 0x6a, 0x6a, "icelake-server"}, {6, 0x6c, 0x6c, "icelake-server"},
    {6, 0x7d, 0x7e, "icelake-client"}, {6, 0x8c, 0x8d, "tigerlake"},
    {6, 0x8e, 0x8e, "skylake"},        {6, 0x8f, 0x8f, "sapphirerapids"},
    {6, 0x97, 0x97, "alderlake"},      {6, 0x9a, 0x9a, "alderlake"},
    {6, 0x9e, 0x9e, "skylake"},        {6, 0xa5, 0xa6, "skylake"},
    {6, 0xa7, 0xa7, "rocketlake"},     {6, 0xad, 0xae, "graniterapids"},
    {6, 0xb7, 0xb7, "raptorlake"},     {6, 0xba, 0xba, "raptorlake"},
    {6, 0xbf, 0xbf, "raptorlake"},     {6, 0xcf, 0xcf, "emeraldrapids"},
};

} // namespace

std::vector<std::string_view> knownFeatures() {
  std::vector<std::string_view> names;
  for (const Feature &feature : kFeatures)
    names.push_back(feature.name);
  return names;
}

std::vector<std::string> detectFeatures(bool codegenOnly) {
  uint64_t saved = xcr0();
  uint32_t lastSubleaf = cpuid(7, 0)[Eax];
  std::vector<std::string> found;
  for (const Feature &f : kFeatures) {
    if ((codegenOnly && !f.codegen) || !isSaved(f.state, saved) ||
        (f.leaf == 7 && f.subleaf > lastSubleaf))
      continue;
    if (cpuid(f.leaf, f.subleaf)[f.reg] >> f.bit & 1)
      found.emplace_back(f.name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string cpuName(std::string_view vendor, uint32_t signature,
                    const std::vector<std::string> &features) {
  uint32_t family = signature >> 8 & 0xf;
  uint32_t model = signature >> 4 & 0xf;
  if (family == 6 || family == 0xf)
    model += (signature >> 16 & 0xf) << 4;
  if (family == 0xf)
    family += signature >> 20 & 0xff;

  auto find = [&](auto &table) -> std::string {
    for (const Model &m : table)
      if (family == m.family && model >= m.first && model <= m.last)
        return std::string(m.name);
    return {};
  };
  auto has = [&](std::string_view feature) {
    return std::find(features.begin(), features.end(), feature) !=
           features.end();
  };
  if (vendor == "AuthenticAMD")
    return find(kAmdModels);
  if (vendor != "GenuineIntel")
    return {};
  std::string name = find(kIntelModels);
  if (name == "skylake-avx512" && has("avx512bf16"))
    return "cooperlake";
  if (name == "skylake-avx512" && has("avx512vnni"))
    return "cascadelake";
  return name;
}

std::string detectCpu() {
  return cpuName(vendor(), cpuid(1, 0)[Eax], detectFeatures(true));
}

std::string detectBrand() {
  std::string text;
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    Registers r = cpuid(leaf, 0);
    text.append(reinterpret_cast<const char *>(r.data()), sizeof(r));
  }
  text.resize(std::strlen(text.c_str()));
  size_t begin = text.find_first_not_of(' ');
  size_t end = text.find_last_not_of(' ');
  return begin == std::string::npos ? std::string()
                                    : text.substr(begin, end - begin + 1);
}

CacheSizes detectCaches() {
  bool amd = vendor() == "AuthenticAMD";
  uint32_t leaf = amd ? 0x8000001d : 4;
  CacheSizes sizes;
  for (uint32_t index = 0; index < 16; ++index) {
    Registers r = cpuid(leaf, index);
    uint32_t type = r[Eax] & 0x1f; // 1 data, 2 instructions, 3 both
    if (type == 0)
      break;
    if (type == 2)
      continue;
    int64_t ways = (r[Ebx] >> 22) + 1;
    int64_t partitions = (r[Ebx] >> 12 & 0x3ff) + 1;
    int64_t line = (r[Ebx] & 0xfff) + 1;
    int64_t sets = int64_t(r[Ecx]) + 1;
    int64_t bytes = ways * partitions * line * sets;
    uint32_t level = r[Eax] >> 5 & 7;
    if (level == 1)
      sizes.l1dBytes = bytes;
    else if (level == 2)
      sizes.l2Bytes = bytes;
    else if (level == 3)
      sizes.l3Bytes = bytes;
  }
  return sizes;
}

} // namespace tlm::x86
