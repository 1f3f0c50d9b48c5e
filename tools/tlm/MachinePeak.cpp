//===- MachinePeak.cpp - what this machine can do at most -----------------===//

#include "MachinePeak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <immintrin.h>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace tlm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Ten accumulators hide the latency of two FMA pipes of 4-5 cycles. The empty
// asm keeps the loop from being folded.
constexpr int kAccumulators = 10;

__attribute__((target("avx512f"))) void fma512(int64_t rounds) {
  __m512 acc[kAccumulators];
  for (__m512 &a : acc)
    a = _mm512_set1_ps(0.5f);
  __m512 x = _mm512_set1_ps(0.999f);
  for (int64_t i = 0; i < rounds; ++i)
#pragma unroll
    for (__m512 &a : acc) {
      a = _mm512_fmadd_ps(a, x, x);
      __asm__ volatile("" : "+v"(a));
    }
}

__attribute__((target("avx2,fma"))) void fma256(int64_t rounds) {
  __m256 acc[kAccumulators];
  for (__m256 &a : acc)
    a = _mm256_set1_ps(0.5f);
  __m256 x = _mm256_set1_ps(0.999f);
  for (int64_t i = 0; i < rounds; ++i)
#pragma unroll
    for (__m256 &a : acc) {
      a = _mm256_fmadd_ps(a, x, x);
      __asm__ volatile("" : "+x"(a));
    }
}

void mulAdd128(int64_t rounds) {
  __m128 acc[kAccumulators];
  for (__m128 &a : acc)
    a = _mm_set1_ps(0.5f);
  __m128 x = _mm_set1_ps(0.999f);
  for (int64_t i = 0; i < rounds; ++i)
#pragma unroll
    for (__m128 &a : acc) {
      a = _mm_add_ps(_mm_mul_ps(a, x), x);
      __asm__ volatile("" : "+x"(a));
    }
}

__attribute__((target("avx512f"))) void read512(const char *data,
                                                int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512)
#pragma unroll
    for (int64_t j = 0; j < 512; j += 64) {
      __m512 value = _mm512_load_ps(data + i + j);
      __asm__ volatile("" : : "v"(value));
    }
}

__attribute__((target("avx2"))) void read256(const char *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512)
#pragma unroll
    for (int64_t j = 0; j < 512; j += 32) {
      __m256 value =
          _mm256_load_ps(reinterpret_cast<const float *>(data + i + j));
      __asm__ volatile("" : : "x"(value));
    }
}

void read128(const char *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 512)
#pragma unroll
    for (int64_t j = 0; j < 512; j += 16) {
      __m128 value = _mm_load_ps(reinterpret_cast<const float *>(data + i + j));
      __asm__ volatile("" : : "x"(value));
    }
}

/// Seconds until all threads have run `body`, started together.
double together(int threads, const std::function<void(int)> &body) {
  std::atomic<int> waiting{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> workers;
  for (int t = 1; t < threads; ++t)
    workers.emplace_back([&, t] {
      ++waiting;
      while (!go)
        _mm_pause();
      body(t);
    });
  while (waiting < threads - 1)
    _mm_pause();
  auto begin = Clock::now();
  go = true;
  body(0);
  for (std::thread &worker : workers)
    worker.join();
  return seconds(begin);
}

struct FreeAligned {
  void operator()(char *memory) const {
    ::operator delete(memory, std::align_val_t(4096));
  }
};

} // namespace

double measurePeakGflops(int threads, int repeats) {
  __builtin_cpu_init();
  bool wide = __builtin_cpu_supports("avx512f");
  bool fma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  auto kernel = wide ? fma512 : fma ? fma256 : mulAdd128;
  double perRound = 2.0 * kAccumulators * (wide ? 16 : fma ? 8 : 4);
  int64_t rounds = 1 << 12;
  for (;; rounds *= 2) {
    auto begin = Clock::now();
    kernel(rounds);
    if (seconds(begin) > 0.01)
      break;
  }
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    double time = together(threads, [&](int) { kernel(2 * rounds); });
    best = std::max(best, 2 * perRound * double(rounds) * threads / time);
  }
  return best / 1e9;
}

double measureReadGBs(int threads, int64_t bytesPerThread, int repeats) {
  __builtin_cpu_init();
  auto kernel = __builtin_cpu_supports("avx512f") ? read512
                : __builtin_cpu_supports("avx2")  ? read256
                                                  : read128;
  int64_t bytes = std::max<int64_t>(512, bytesPerThread / 512 * 512);
  std::vector<std::unique_ptr<char, FreeAligned>> buffers;
  for (int t = 0; t < threads; ++t) {
    buffers.emplace_back(static_cast<char *>(
        ::operator new(size_t(bytes), std::align_val_t(4096))));
    std::fill_n(buffers.back().get(), bytes, char(1));
  }
  int64_t sweeps = std::max<int64_t>(1, (int64_t(256) << 20) / bytes);
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    double time = together(threads, [&](int t) {
      for (int64_t s = 0; s < sweeps; ++s)
        kernel(buffers[size_t(t)].get(), bytes);
    });
    best = std::max(best, double(bytes) * double(sweeps) * threads / time);
  }
  return best / 1e9;
}

} // namespace tlm
