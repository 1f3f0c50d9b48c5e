// The runtime's table against the compiler's: target/ decides what an artifact
// needs, runtime/ checks it.

extern "C" {
#include "runtime/CpuFeatures.h"
#include "runtime/CpuCount.h"
}
#include "target/Target.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tlm {
namespace {

TEST(CpuFeatures, HostHasWhatTargetFound) {
  for (const std::string &feature : hostTarget().features)
    EXPECT_EQ(tlmFeatureState(feature.c_str()), TLM_FEATURE_PRESENT) << feature;
}

TEST(CpuFeatures, KnowsTheFeaturesOfEveryNamedCpu) {
  for (const char *cpu :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "skylake-avx512",
        "icelake-server", "sapphirerapids", "znver3", "znver4", "znver5"}) {
    auto target = targetFor(cpu);
    ASSERT_TRUE(target.ok()) << cpu;
    for (const std::string &feature : target->features)
      EXPECT_NE(tlmFeatureState(feature.c_str()), TLM_FEATURE_UNKNOWN)
          << cpu << " " << feature;
  }
}

TEST(CpuFeatures, AgreesWithTheCompilersProbe) {
  __builtin_cpu_init();
  EXPECT_EQ(tlmFeatureState("avx512bw") == TLM_FEATURE_PRESENT,
            bool(__builtin_cpu_supports("avx512bw")));
  EXPECT_EQ(tlmFeatureState("avx2") == TLM_FEATURE_PRESENT,
            bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(tlmFeatureState("avx3"), TLM_FEATURE_UNKNOWN);
}

TEST(CpuFeatures, HiddenIsMissing) {
  setenv("TLM_TEST_HIDE_CPU_FEATURES", "avx,sse2", 1);
  EXPECT_EQ(tlmFeatureState("sse2"), TLM_FEATURE_MISSING);
  EXPECT_EQ(tlmFeatureState("sse"), TLM_FEATURE_PRESENT);
  EXPECT_STREQ(tlmBestLevel(), "x86-64-v2");
  unsetenv("TLM_TEST_HIDE_CPU_FEATURES");
}

TEST(CpuCount, AgreesWithTarget) { EXPECT_EQ(tlmUsableCpus(), usableCpus()); }

} // namespace
} // namespace tlm
