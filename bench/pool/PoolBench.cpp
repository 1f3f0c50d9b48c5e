//===- PoolBench.cpp - what a parallel region costs -----------------------===//
//
// Prints the time of an empty region of the artifacts' thread pool: hot, and
// after pauses of the caller in which the workers go to sleep. A number behind
// the program's name sets the threads.
//
//===----------------------------------------------------------------------===//

extern "C" {
#include "runtime/CpuCount.h"
#include "runtime/Pool.h"
}

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void empty(void *const *, void *, int64_t, int64_t) {}

void wait(double pause) {
  Clock::time_point begin = Clock::now();
  while (microseconds(Clock::now() - begin) < pause) {
  }
}

void print(const char *what, double pause, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%-28s pause %6.0f us: min %6.2f  median %6.2f  p90 %6.2f us\n",
              what, pause, times.front(), times[times.size() / 2],
              times[times.size() * 9 / 10]);
}

void measureRegion(TlmPool *pool, int threads, int64_t chunks, double pause) {
  std::vector<char> scratch(size_t(threads) * 64);
  TlmRegion region = {empty, nullptr, scratch.data(), 64, chunks, threads};
  std::vector<double> times;
  TlmPoolUse use = tlmPoolEnter(pool, threads);
  for (int i = 0; i < (pause ? 300 : 5000); ++i) {
    wait(pause);
    Clock::time_point begin = Clock::now();
    tlmPoolRun(pool, &region);
    times.push_back(microseconds(Clock::now() - begin));
  }
  tlmPoolLeave(pool, use);
  char what[64];
  std::snprintf(what, sizeof(what), "region of %lld chunks", (long long)chunks);
  print(what, pause, times);
}

void measureRun(TlmPool *pool, int threads, double pause) {
  std::vector<char> scratch(size_t(threads) * 64);
  TlmRegion region = {empty, nullptr, scratch.data(), 64, threads, threads};
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) {
    wait(pause);
    Clock::time_point begin = Clock::now();
    TlmPoolUse use = tlmPoolEnter(pool, threads);
    for (int j = 0; j < 10; ++j)
      tlmPoolRun(pool, &region);
    tlmPoolLeave(pool, use);
    times.push_back(microseconds(Clock::now() - begin));
  }
  print("inference of 10 regions", pause, times);
}

} // namespace

int main(int argc, char **argv) {
  int cpus = tlmUsableCpus();
  int threads = argc > 1 ? std::atoi(argv[1]) : cpus;
  if (threads < 1 || threads > 1024) {
    std::fprintf(stderr, "usage: %s [threads]\n", argv[0]);
    return 2;
  }
  std::printf("%d threads, %d usable CPUs\n", threads, cpus);
  TlmPool *pool = tlmPoolCreate(threads, cpus);
  if (!pool)
    return 1;
  for (int64_t chunks : {int64_t(threads), int64_t(16) * threads})
    for (double pause : {0.0, 40.0, 500.0, 3000.0})
      measureRegion(pool, threads, chunks, pause);
  for (double pause : {0.0, 40.0, 500.0, 3000.0})
    measureRun(pool, threads, pause);
  tlmPoolDestroy(pool);
  return 0;
}
