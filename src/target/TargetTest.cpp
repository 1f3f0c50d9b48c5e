//===- TargetTest.cpp -----------------------------------------------------===//

#include "target/Target.h"

#include "target/CpuQuota.h"
#include "target/x86/Cpuid.h"
#include "target/x86/FeatureSet.h"
#include "target/x86/NamedCpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>

using namespace tlm;

namespace {

bool has(const Target &target, std::string_view feature) {
  return std::find(target.features.begin(), target.features.end(), feature) !=
         target.features.end();
}

TEST(Target, HostFeaturesAgreeWithTheCompilersProbe) {
  __builtin_cpu_init();
  Target host = hostTarget();
  EXPECT_EQ(has(host, "avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(has(host, "fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(has(host, "avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(has(host, "avx512vnni"),
            bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(has(host, "bmi2"), bool(__builtin_cpu_supports("bmi2")));
  EXPECT_TRUE(std::is_sorted(host.features.begin(), host.features.end()));
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_GE(host.l1dBytes, 8 << 10);
  EXPECT_GE(host.l2Bytes, host.l1dBytes);
  EXPECT_GE(host.threads, 1);
}

TEST(Target, NamedCpusHaveTheirVectors) {
  Target v3 = *targetFor("x86-64-v3");
  EXPECT_EQ(v3.vectorBits, 256);
  EXPECT_EQ(v3.vectorRegisters, 16);
  EXPECT_FALSE(has(v3, "avx512f"));
  Target v4 = *targetFor("x86-64-v4");
  EXPECT_EQ(v4.vectorBits, 512);
  EXPECT_EQ(v4.vectorRegisters, 32);
  EXPECT_TRUE(has(v4, "fma"));
  EXPECT_TRUE(has(*targetFor("sapphirerapids"), "avx512fp16"));
  EXPECT_TRUE(has(*targetFor("znver5"), "avx512bf16"));
}

TEST(Target, NamedFeaturesAreKnown) {
  auto known = x86::knownFeatures();
  EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));
  for (const std::string &name : x86::namedCpus()) {
    Target target = *targetFor(name);
    for (const std::string &feature : target.features)
      EXPECT_TRUE(std::binary_search(known.begin(), known.end(), feature))
          << name << " " << feature;
  }
}

TEST(Target, UnknownCpuIsAUsageError) {
  auto target = targetFor("pentium-9");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().code, ErrorCode::Usage);
  EXPECT_NE(target.error().message.find("x86-64-v3"), std::string::npos);
}

TEST(Target, FeatureStringSwitchesTheRestOff) {
  std::string text = targetFor("x86-64-v3")->featureString();
  EXPECT_NE(text.find("+avx2"), std::string::npos);
  EXPECT_NE(text.find("-avx512f"), std::string::npos);
  EXPECT_LT(text.rfind(",-"), text.find("+"));
}

TEST(Target, FeaturesComeAndGoWithTheirNeeds) {
  std::vector<std::string> features = targetFor("znver4")->features;
  x86::removeFeature(features, "avx512f");
  EXPECT_EQ(features, targetFor("x86-64-v3")->features);
  features.clear();
  x86::addFeature(features, "avx512f");
  EXPECT_EQ(features,
            (std::vector<std::string>{"avx", "avx2", "avx512f", "f16c", "fma",
                                      "sse3", "sse4.1", "sse4.2", "ssse3"}));
  // The table of processors and the table of needs agree.
  for (const std::string &name : x86::namedCpus()) {
    Target target = *targetFor(name);
    std::vector<std::string> closed;
    for (const std::string &feature : target.features)
      x86::addFeature(closed, feature);
    EXPECT_EQ(closed, target.features) << name;
  }
}

TEST(Target, CpuNamesFromSignatures) {
  EXPECT_EQ(x86::cpuName("AuthenticAMD", 0x00b00f21, {}), "znver5");
  EXPECT_EQ(x86::cpuName("AuthenticAMD", 0x00a10f11, {}), "znver4");
  EXPECT_EQ(x86::cpuName("AuthenticAMD", 0x00a00f11, {}), "znver3");
  EXPECT_EQ(x86::cpuName("GenuineIntel", 0x000806f8, {}), "sapphirerapids");
  EXPECT_EQ(x86::cpuName("GenuineIntel", 0x000606a6, {}), "icelake-server");
  EXPECT_EQ(x86::cpuName("GenuineIntel", 0x00050654, {}), "skylake-avx512");
  EXPECT_EQ(x86::cpuName("GenuineIntel", 0x00050657, {"avx512vnni"}),
            "cascadelake");
  EXPECT_EQ(x86::cpuName("Unheard of", 0x00050657, {}), "");
}

class CpuQuota : public testing::Test {
protected:
  void SetUp() override {
    mount = testing::TempDir() + "cgroup";
    std::filesystem::remove_all(mount);
  }
  void write(const std::string &file, const std::string &text) {
    std::filesystem::path path = mount + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string mount;
};

TEST_F(CpuQuota, VersionTwoTakesTheTightestOfThePath) {
  write("a/cpu.max", "150000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroupCpus("0::/a/b\n", mount), 2);
}

TEST_F(CpuQuota, VersionTwoInsideANamespaceReadsTheRoot) {
  write("cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroupCpus("0::/\n", mount), 1);
}

TEST_F(CpuQuota, VersionOne) {
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroupCpus("5:memory:/job\n4:cpu,cpuacct:/job\n", mount), 4);
}

TEST_F(CpuQuota, NoneOrGarbageIsNoLimit) {
  EXPECT_EQ(cgroupCpus("", mount), std::nullopt);
  EXPECT_EQ(cgroupCpus("0::relative\nno colon\n:\n", mount), std::nullopt);
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroupCpus("4:cpu:/\n", mount), std::nullopt);
  write("cpu.max", "what\n");
  EXPECT_EQ(cgroupCpus("0::/\n", mount), std::nullopt);
}

TEST(Target, UsableCpusRespectsAffinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usableCpus(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

} // namespace
