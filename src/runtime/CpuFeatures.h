/*===- CpuFeatures.h - does this CPU have what the code needs ---------------===
 *
 * Features carry LLVM's names. They are read from cpuid and XGETBV, never from
 * the CPU's name: a feature counts only if the operating system saves its
 * registers too. TLM_TEST_HIDE_CPU_FEATURES="avx512f,avx2" in the environment
 * makes the check believe that those are missing (for tests).
 *
 *===------------------------------------------------------------------------===*/

#ifndef TLM_RUNTIME_CPUFEATURES_H
#define TLM_RUNTIME_CPUFEATURES_H

typedef enum TlmFeatureState {
  TLM_FEATURE_MISSING = 0,
  TLM_FEATURE_PRESENT = 1,
  TLM_FEATURE_UNKNOWN = 2 /* no such name here */
} TlmFeatureState;

TlmFeatureState tlmFeatureState(const char *name);

/* The highest x86-64 level that this CPU has all features of, as an --mcpu
 * value: "x86-64-v4", ..., "x86-64". */
const char *tlmBestLevel(void);

#endif /* TLM_RUNTIME_CPUFEATURES_H */
