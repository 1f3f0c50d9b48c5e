extern "C" {
#include "runtime/Pool.h"
}

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

/// What the stage of these tests works on: args[0].
struct Work {
  std::vector<int64_t> counts; ///< plain: a race shows under TSan
  int64_t value = 0;
};

void addValue(void *const *args, void *scratch, int64_t begin, int64_t end) {
  Work &work = *static_cast<Work *>(args[0]);
  auto *mine = static_cast<int64_t *>(scratch);
  for (int64_t i = begin; i < end; ++i) {
    *mine = i * work.value; // the scratch belongs to this worker alone
    work.counts[size_t(i)] += *mine + 1;
  }
}

class PoolTest : public testing::Test {
protected:
  static constexpr int64_t stride = 128;

  void run(TlmPool *pool, Work &work, int64_t parallelism) {
    void *args[] = {&work};
    TlmRegion region = {addValue,         args,
                        scratch.data(),   stride,
                        /*firstChunk=*/0, int64_t(work.counts.size()),
                        parallelism};
    tlmPoolRun(pool, &region);
  }
  void check(const Work &work, int64_t sum) {
    for (size_t i = 0; i < work.counts.size(); ++i)
      ASSERT_EQ(work.counts[i], int64_t(i) * sum + (sum ? rounds : 0)) << i;
  }

  alignas(64) std::vector<char> scratch = std::vector<char>(64 * stride);
  int64_t rounds = 0;
};

TEST_F(PoolTest, EveryChunkOnceInEveryRegion) {
  for (int threads : {1, 2, 3, 8}) {
    TlmPool *pool = tlmPoolCreate(threads, 8);
    ASSERT_NE(pool, nullptr);
    for (size_t chunks : {1, 2, 3, 7, 64, 1000}) {
      Work work;
      work.counts.resize(chunks);
      int64_t sum = 0;
      rounds = 200;
      TlmPoolUse use = tlmPoolEnter(pool, threads);
      if (threads > 1)
        ASSERT_EQ(use, TLM_POOL_OWNED);
      for (int64_t i = 1; i <= rounds; ++i) {
        work.value = i; // written between regions, read inside
        sum += i;
        run(pool, work, 1 + i % 8);
      }
      tlmPoolLeave(pool, use);
      check(work, sum);
    }
    tlmPoolDestroy(pool);
  }
}

TEST_F(PoolTest, WorkersThatSleepWakeUp) {
  TlmPool *pool = tlmPoolCreate(3, 8);
  Work work;
  work.counts.resize(10);
  int64_t sum = 0;
  for (int64_t i = 1; i <= 20; ++i) {
    TlmPoolUse use = tlmPoolEnter(pool, 3);
    for (int j = 0; j < 3; ++j) {
      work.value = i;
      sum += i;
      ++rounds;
      run(pool, work, 3);
      std::this_thread::sleep_for(std::chrono::milliseconds(j));
    }
    tlmPoolLeave(pool, use);
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 3));
  }
  check(work, sum);
  tlmPoolDestroy(pool);
}

TEST_F(PoolTest, SecondCallerIsSerial) {
  TlmPool *pool = tlmPoolCreate(2, 8);
  TlmPoolUse first = tlmPoolEnter(pool, 2), second = tlmPoolEnter(pool, 2);
  EXPECT_EQ(first, TLM_POOL_OWNED);
  EXPECT_EQ(second, TLM_POOL_SERIAL);
  tlmPoolLeave(pool, second);
  tlmPoolLeave(pool, first);
  EXPECT_EQ(first = tlmPoolEnter(pool, 2), TLM_POOL_OWNED);
  tlmPoolLeave(pool, first);
  tlmPoolDestroy(pool);
}

TEST_F(PoolTest, ManyCallersManyPools) {
  TlmPool *pools[] = {tlmPoolCreate(2, 2), tlmPoolCreate(3, 2)};
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      TlmPool *pool = pools[caller % 2];
      std::vector<char> mine(8 * stride);
      Work work;
      work.counts.resize(16);
      work.value = caller;
      void *args[] = {&work};
      TlmRegion region = {addValue, args, mine.data(), stride, 0, 16, 4};
      for (int i = 0; i < 300; ++i) {
        TlmPoolUse use = tlmPoolEnter(pool, 3);
        if (use == TLM_POOL_OWNED)
          tlmPoolRun(pool, &region);
        else
          addValue(args, mine.data(), 0, 16);
        tlmPoolLeave(pool, use);
      }
      for (int64_t i = 0; i < 16; ++i)
        wrong += work.counts[size_t(i)] != 300 * (i * caller + 1);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
  for (TlmPool *pool : pools)
    tlmPoolDestroy(pool);
}

} // namespace
