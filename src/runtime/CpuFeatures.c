/*===- CpuFeatures.c
 * --------------------------------------------------------===*/

#include "CpuFeatures.h"

#include <cpuid.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum Register { EAX = 0, EBX = 1, ECX = 2, EDX = 3 };

/* Register state that the operating system must save: bits of XCR0. */
enum State { NONE = 0, AVX = 0x6, AVX512 = 0xe6, AMX = 0x60000 };

typedef struct Feature {
  const char *name;
  uint32_t leaf;
  uint32_t subleaf;
  uint8_t reg;
  uint8_t bit;
  uint32_t state;
} Feature;

static const Feature features[] = {
    {"64bit", 0x80000001, 0, EDX, 29, NONE},
    {"adx", 7, 0, EBX, 19, NONE},
    {"aes", 1, 0, ECX, 25, NONE},
    {"amx-bf16", 7, 0, EDX, 22, AMX},
    {"amx-fp16", 7, 1, EAX, 21, AMX},
    {"amx-int8", 7, 0, EDX, 25, AMX},
    {"amx-tile", 7, 0, EDX, 24, AMX},
    {"avx", 1, 0, ECX, 28, AVX},
    {"avx2", 7, 0, EBX, 5, AVX},
    {"avx512bf16", 7, 1, EAX, 5, AVX512},
    {"avx512bitalg", 7, 0, ECX, 12, AVX512},
    {"avx512bw", 7, 0, EBX, 30, AVX512},
    {"avx512cd", 7, 0, EBX, 28, AVX512},
    {"avx512dq", 7, 0, EBX, 17, AVX512},
    {"avx512f", 7, 0, EBX, 16, AVX512},
    {"avx512fp16", 7, 0, EDX, 23, AVX512},
    {"avx512ifma", 7, 0, EBX, 21, AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, AVX512},
    {"avx512vbmi2", 7, 0, ECX, 6, AVX512},
    {"avx512vl", 7, 0, EBX, 31, AVX512},
    {"avx512vnni", 7, 0, ECX, 11, AVX512},
    {"avx512vp2intersect", 7, 0, EDX, 8, AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, AVX512},
    {"avxifma", 7, 1, EAX, 23, AVX},
    {"avxneconvert", 7, 1, EDX, 5, AVX},
    {"avxvnni", 7, 1, EAX, 4, AVX},
    {"avxvnniint16", 7, 1, EDX, 10, AVX},
    {"avxvnniint8", 7, 1, EDX, 4, AVX},
    {"bmi", 7, 0, EBX, 3, NONE},
    {"bmi2", 7, 0, EBX, 8, NONE},
    {"cldemote", 7, 0, ECX, 25, NONE},
    {"clflushopt", 7, 0, EBX, 23, NONE},
    {"clwb", 7, 0, EBX, 24, NONE},
    {"clzero", 0x80000008, 0, EBX, 0, NONE},
    {"cmov", 1, 0, EDX, 15, NONE},
    {"crc32", 1, 0, ECX, 20, NONE},
    {"cx16", 1, 0, ECX, 13, NONE},
    {"cx8", 1, 0, EDX, 8, NONE},
    {"f16c", 1, 0, ECX, 29, AVX},
    {"fma", 1, 0, ECX, 12, AVX},
    {"fma4", 0x80000001, 0, ECX, 16, AVX},
    {"fsgsbase", 7, 0, EBX, 0, NONE},
    {"fxsr", 1, 0, EDX, 24, NONE},
    {"gfni", 7, 0, ECX, 8, NONE},
    {"lzcnt", 0x80000001, 0, ECX, 5, NONE},
    {"mmx", 1, 0, EDX, 23, NONE},
    {"movbe", 1, 0, ECX, 22, NONE},
    {"movdir64b", 7, 0, ECX, 28, NONE},
    {"movdiri", 7, 0, ECX, 27, NONE},
    {"mwaitx", 0x80000001, 0, ECX, 29, NONE},
    {"pclmul", 1, 0, ECX, 1, NONE},
    {"popcnt", 1, 0, ECX, 23, NONE},
    {"prefetchi", 7, 1, EDX, 14, NONE},
    {"prfchw", 0x80000001, 0, ECX, 8, NONE},
    {"rdpid", 7, 0, ECX, 22, NONE},
    {"rdpru", 0x80000008, 0, EBX, 4, NONE},
    {"rdrnd", 1, 0, ECX, 30, NONE},
    {"rdseed", 7, 0, EBX, 18, NONE},
    {"sahf", 0x80000001, 0, ECX, 0, NONE},
    {"serialize", 7, 0, EDX, 14, NONE},
    {"sha", 7, 0, EBX, 29, NONE},
    {"sse", 1, 0, EDX, 25, NONE},
    {"sse2", 1, 0, EDX, 26, NONE},
    {"sse3", 1, 0, ECX, 0, NONE},
    {"sse4.1", 1, 0, ECX, 19, NONE},
    {"sse4.2", 1, 0, ECX, 20, NONE},
    {"sse4a", 0x80000001, 0, ECX, 6, NONE},
    {"ssse3", 1, 0, ECX, 9, NONE},
    {"tbm", 0x80000001, 0, ECX, 21, NONE},
    {"vaes", 7, 0, ECX, 9, AVX},
    {"vpclmulqdq", 7, 0, ECX, 10, AVX},
    {"waitpkg", 7, 0, ECX, 5, NONE},
    {"wbnoinvd", 0x80000008, 0, EBX, 9, NONE},
    {"x87", 1, 0, EDX, 0, NONE},
    {"xop", 0x80000001, 0, ECX, 11, AVX},
    {"xsave", 1, 0, ECX, 26, NONE},
    {"xsavec", 0xd, 1, EAX, 1, NONE},
    {"xsaveopt", 0xd, 1, EAX, 0, NONE},
    {"xsaves", 0xd, 1, EAX, 3, NONE},
};

static uint64_t enabledState(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) /* OSXSAVE */
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static int isHidden(const char *name) {
  const char *list = getenv("TLM_TEST_HIDE_CPU_FEATURES");
  size_t length = strlen(name);
  while (list && *list) {
    size_t end = strcspn(list, ",");
    if (end == length && !memcmp(list, name, length))
      return 1;
    list += end + (list[end] == ',');
  }
  return 0;
}

TlmFeatureState tlmFeatureState(const char *name) {
  for (size_t i = 0; i < sizeof(features) / sizeof(*features); ++i) {
    const Feature *feature = &features[i];
    if (strcmp(feature->name, name))
      continue;
    if (isHidden(name))
      return TLM_FEATURE_MISSING;
    uint32_t registers[4];
    if (!__get_cpuid_count(feature->leaf, feature->subleaf, &registers[0],
                           &registers[1], &registers[2], &registers[3]) ||
        !(registers[feature->reg] >> feature->bit & 1))
      return TLM_FEATURE_MISSING;
    if (feature->state && (enabledState() & feature->state) != feature->state)
      return TLM_FEATURE_MISSING;
    return TLM_FEATURE_PRESENT;
  }
  return TLM_FEATURE_UNKNOWN;
}

static int hasAll(const char *const *names) {
  for (; *names; ++names)
    if (tlmFeatureState(*names) != TLM_FEATURE_PRESENT)
      return 0;
  return 1;
}

const char *tlmBestLevel(void) {
  static const char *const v2[] = {"cx16",   "popcnt", "sahf",  "sse3",
                                   "sse4.1", "sse4.2", "ssse3", NULL};
  static const char *const v3[] = {"avx", "avx2",  "bmi",   "bmi2", "f16c",
                                   "fma", "lzcnt", "movbe", NULL};
  static const char *const v4[] = {"avx512f",  "avx512bw", "avx512cd",
                                   "avx512dq", "avx512vl", NULL};
  if (!hasAll(v2))
    return "x86-64";
  if (!hasAll(v3))
    return "x86-64-v2";
  return hasAll(v4) ? "x86-64-v4" : "x86-64-v3";
}
