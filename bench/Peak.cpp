//===- Peak.cpp - prints what this machine can do at most -----------------===//
//
// usage: tlm-peak [THREADS]      JSON on stdout, for bench/networks.py
//
//===----------------------------------------------------------------------===//

#include "MachinePeak.h"
#include "target/Target.h"
#include "target/x86/Cpuid.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace tlm;

int main(int argc, char **argv) {
  Target host = hostTarget();
  int threads = argc > 1 ? std::atoi(argv[1]) : int(host.threads);
  if (threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: tlm-peak [THREADS]\n");
    return 2;
  }
  // Half of a cache leaves room for everything else; memory is far above L3.
  int64_t l1 = host.l1dBytes / 2, l2 = host.l2Bytes / 2;
  int64_t memory = std::max<int64_t>(int64_t(256) << 20, 4 * host.l3Bytes);
  std::printf("{\"cpu\": \"%s\", \"target\": \"%s\", \"threads\": %d,\n",
              x86::detectBrand().c_str(), host.cpu.c_str(), threads);
  std::printf(" \"l2_bytes\": %lld, \"l3_bytes\": %lld,\n",
              static_cast<long long>(host.l2Bytes),
              static_cast<long long>(host.l3Bytes));
  std::printf(" \"peak_gflops\": %.1f,\n", measurePeakGflops(threads));
  std::printf(" \"l1_gb_s\": %.1f,\n", measureReadGBs(threads, l1));
  std::printf(" \"l2_gb_s\": %.1f,\n", measureReadGBs(threads, l2));
  std::printf(" \"l3_gb_s\": %.1f,\n",
              measureReadGBs(threads, host.l3Bytes / 2 / threads));
  std::printf(" \"memory_gb_s\": %.1f}\n",
              measureReadGBs(threads, memory / threads));
  return 0;
}
