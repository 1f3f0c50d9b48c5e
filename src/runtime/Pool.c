/*===- Pool.c
 * ---------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "Pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

/* Nanoseconds. A worker spins this long for the next region of an inference: */
static const int64_t kSpinWithin = 1000000;
/* after an inference, if the last one was followed by another that soon: */
static const int64_t kSpinBehind = 100000;
/* and while CPUs are contended: */
static const int64_t kSpinContended = 3000;
/* A spinning thread that sees no time pass but this much lost the CPU. */
static const int64_t kPreemptedGap = 200000;
/* Pauses between two looks at the clock, which also offer the CPU to others. */
enum { kPausesPerLook = 64 };
/* How long contention is believed to last once seen. */
static const int64_t kContentionMemory = 20000000;

/* Chunks [next, limit) that nobody claimed yet: limit << 32 | next. Claiming is
 * one fetch_add; next may run past limit by late claims, which get nothing. A
 * claim that succeeds keeps its region open, so the region's fields may be read
 * after it and only after it. */
typedef struct Slot {
  alignas(128) _Atomic uint64_t ticket;
  /* Kept apart from the ticket, which its owner spins on. */
  alignas(128) _Atomic uint32_t asleep;
  pthread_t thread;
  TlmPool *pool;
  int index;
} Slot;

struct TlmPool {
  int threads; /* slots, the caller's included */
  int cpus;
  int started; /* workers that run */
  alignas(128) TlmRegion region;
  /* Of the newest region. Hints: a late worker may read an old value. */
  alignas(128) _Atomic int width;         /* slots in use */
  _Atomic int64_t grain;                  /* chunks to claim at once */
  alignas(128) _Atomic int64_t remaining; /* chunks not finished */
  _Atomic uint32_t callerAsleep;
  alignas(128) _Atomic int64_t spin; /* allowed now */
  _Atomic int64_t contendedUntil;
  _Atomic int quit;
  alignas(128) _Atomic int owned;
  _Atomic int callers;
  _Atomic int process; /* pid the workers belong to, 0 while they are made */
  /* Of the owner: */
  int64_t leftAt;
  int mayLinger;
  Slot slots[];
};

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void relax(void) {
#ifdef __x86_64__
  _mm_pause();
#endif
}

uint32_t tlmDefaultRounding(void) {
#ifdef __x86_64__
  uint32_t old = _mm_getcsr();
  _mm_setcsr(0x1f80);
  return old;
#else
  return 0;
#endif
}

void tlmRestoreRounding(uint32_t state) {
#ifdef __x86_64__
  _mm_setcsr(state);
#else
  (void)state;
#endif
}

static void futexWait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futexWake(_Atomic uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int hasChunks(uint64_t ticket) {
  return (uint32_t)ticket < (uint32_t)(ticket >> 32);
}

/* Claims up to `grain` chunks of `slot`; 0 when none are left. */
static int claim(Slot *slot, int64_t grain, int64_t *begin, int64_t *end) {
  if (!hasChunks(atomic_load_explicit(&slot->ticket, memory_order_relaxed)))
    return 0;
  uint64_t ticket = atomic_fetch_add_explicit(&slot->ticket, (uint64_t)grain,
                                              memory_order_acq_rel);
  if (!hasChunks(ticket))
    return 0;
  int64_t limit = (int64_t)(ticket >> 32);
  *begin = (int64_t)(uint32_t)ticket;
  *end = *begin + grain < limit ? *begin + grain : limit;
  return 1;
}

/* Runs chunks of the own slot, then of the others', until none are left. */
static void work(TlmPool *pool, int index) {
  int width = atomic_load_explicit(&pool->width, memory_order_relaxed);
  int64_t grain = atomic_load_explicit(&pool->grain, memory_order_relaxed);
  int64_t finished = 0;
  for (int i = 0; i < width; ++i) {
    Slot *victim = &pool->slots[(index + i) % width];
    int64_t begin, end;
    while (claim(victim, grain, &begin, &end)) {
      const TlmRegion *region = &pool->region;
      region->function(region->args,
                       region->scratch + index * region->scratchStride,
                       region->firstChunk + begin, region->firstChunk + end);
      finished += end - begin;
    }
  }
  if (!finished)
    return;
  if (atomic_fetch_sub_explicit(&pool->remaining, finished,
                                memory_order_seq_cst) == finished &&
      index != 0 && atomic_load(&pool->callerAsleep)) {
    atomic_store(&pool->callerAsleep, 0);
    futexWake(&pool->callerAsleep);
  }
}

/* Both ways of waiting: spins while `waiting` holds and the time is not up.
 * Returns whether it still holds. */
typedef int (*Condition)(TlmPool *pool, Slot *slot);

static int spinWhile(TlmPool *pool, Slot *slot, Condition waiting) {
  int64_t begin = now(), last = begin;
  while (waiting(pool, slot)) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      relax();
      if (!waiting(pool, slot))
        return 0;
    }
    sched_yield(); /* the caller may be waiting for this very CPU */
    int64_t time = now();
    if (time - last > kPreemptedGap) {
      atomic_store_explicit(&pool->contendedUntil, time + kContentionMemory,
                            memory_order_relaxed);
      atomic_store_explicit(&pool->spin, kSpinContended, memory_order_relaxed);
    }
    last = time;
    if (time - begin > atomic_load_explicit(&pool->spin, memory_order_relaxed))
      return 1;
  }
  return 0;
}

static int isIdle(TlmPool *pool, Slot *slot) {
  return !hasChunks(
             atomic_load_explicit(&slot->ticket, memory_order_acquire)) &&
         !atomic_load_explicit(&pool->quit, memory_order_relaxed);
}

static int isUnfinished(TlmPool *pool, Slot *slot) {
  (void)slot;
  return atomic_load_explicit(&pool->remaining, memory_order_acquire) != 0;
}

static void *workerMain(void *argument) {
  Slot *slot = (Slot *)argument;
  TlmPool *pool = slot->pool;
  tlmDefaultRounding();
  while (!atomic_load(&pool->quit)) {
    if (spinWhile(pool, slot, isIdle)) {
      atomic_store(&slot->asleep, 1);
      while (atomic_load(&slot->asleep) &&
             !hasChunks(atomic_load(&slot->ticket)) &&
             !atomic_load(&pool->quit))
        futexWait(&slot->asleep, 1);
      atomic_store(&slot->asleep, 0);
    }
    work(pool, slot->index);
  }
  return NULL;
}

static void wake(Slot *slot) {
  if (atomic_load(&slot->asleep)) {
    atomic_store(&slot->asleep, 0);
    futexWake(&slot->asleep);
  }
}

/* Workers take no signals: the program's handlers run on its own threads. */
static void startWorkers(TlmPool *pool) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pool->started = 0;
  for (int i = 1; i < pool->threads; ++i) {
    Slot *slot = &pool->slots[i];
    if (pthread_create(&slot->thread, NULL, workerMain, slot))
      break;
    pthread_setname_np(slot->thread, "tlm-worker");
    ++pool->started;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Everything a fork may have left in any state. */
static void reset(TlmPool *pool) {
  atomic_store(&pool->remaining, 0);
  atomic_store(&pool->callerAsleep, 0);
  atomic_store(&pool->spin, 0);
  atomic_store(&pool->contendedUntil, 0);
  atomic_store(&pool->quit, 0);
  atomic_store(&pool->owned, 0);
  atomic_store(&pool->callers, 0);
  atomic_store(&pool->width, 1);
  atomic_store(&pool->grain, 1);
  pool->leftAt = 0;
  for (int i = 0; i < pool->threads; ++i) {
    Slot *slot = &pool->slots[i];
    atomic_store(&slot->ticket, 0);
    atomic_store(&slot->asleep, 0);
    slot->pool = pool;
    slot->index = i;
  }
}

TlmPool *tlmPoolCreate(int threads, int cpus) {
  size_t size = sizeof(TlmPool) + (size_t)threads * sizeof(Slot);
  size = (size + 127) & ~(size_t)127;
  TlmPool *pool = (TlmPool *)aligned_alloc(128, size);
  if (!pool)
    return NULL;
  memset(pool, 0, size);
  pool->threads = threads;
  pool->cpus = cpus;
  reset(pool);
  startWorkers(pool);
  atomic_store(&pool->process, (int)getpid());
  return pool;
}

void tlmPoolDestroy(TlmPool *pool) {
  if (atomic_load(&pool->process) == (int)getpid()) {
    atomic_store(&pool->quit, 1);
    for (int i = 1; i <= pool->started; ++i)
      wake(&pool->slots[i]);
    for (int i = 1; i <= pool->started; ++i)
      pthread_join(pool->slots[i].thread, NULL);
  }
  free(pool);
}

int tlmPoolThreads(const TlmPool *pool) { return pool->threads; }

/* In a child of fork the workers are gone: makes new ones. Returns 0 while
 * another thread does so. */
static int ownWorkers(TlmPool *pool) {
  int process = (int)getpid(), known = atomic_load(&pool->process);
  if (known == process)
    return 1;
  if (known == 0 || !atomic_compare_exchange_strong(&pool->process, &known, 0))
    return 0;
  reset(pool);
  startWorkers(pool);
  atomic_store(&pool->process, process);
  return 1;
}

int tlmPoolIsContended(TlmPool *pool) {
  return now() < atomic_load(&pool->contendedUntil);
}

TlmPoolUse tlmPoolEnter(TlmPool *pool, int workers) {
  if (!ownWorkers(pool))
    return TLM_POOL_UNCOUNTED;
  int callers = atomic_fetch_add(&pool->callers, 1) + 1;
  if (!pool->started || callers > pool->cpus ||
      atomic_exchange(&pool->owned, 1))
    return TLM_POOL_SERIAL;
  int64_t time = now();
  pool->mayLinger = time - pool->leftAt < kSpinBehind;
  if (time < atomic_load(&pool->contendedUntil)) {
    atomic_store(&pool->spin, kSpinContended);
    return TLM_POOL_OWNED;
  }
  atomic_store(&pool->spin, kSpinWithin);
  for (int i = 1; i < workers && i < pool->cpus && i <= pool->started; ++i)
    wake(&pool->slots[i]);
  return TLM_POOL_OWNED;
}

void tlmPoolLeave(TlmPool *pool, TlmPoolUse use) {
  if (use == TLM_POOL_UNCOUNTED)
    return;
  if (use == TLM_POOL_OWNED) {
    if (atomic_load(&pool->spin) > kSpinBehind || !pool->mayLinger)
      atomic_store(&pool->spin, pool->mayLinger ? kSpinBehind : 0);
    pool->leftAt = now();
    atomic_store(&pool->owned, 0);
  }
  atomic_fetch_sub(&pool->callers, 1);
}

void tlmPoolRun(TlmPool *pool, const TlmRegion *region) {
  int64_t free = pool->cpus - (atomic_load(&pool->callers) - 1);
  int64_t width = pool->started + 1;
  width = region->parallelism < width ? region->parallelism : width;
  width = region->chunks < width ? region->chunks : width;
  width = free < width ? free : width;
  if (width <= 1 || region->chunks > INT32_MAX) {
    if (region->chunks > 0)
      region->function(region->args, region->scratch, region->firstChunk,
                       region->firstChunk + region->chunks);
    return;
  }
  pool->region = *region;
  atomic_store_explicit(&pool->width, (int)width, memory_order_relaxed);
  atomic_store_explicit(&pool->grain, 1 + region->chunks / (width * 64),
                        memory_order_relaxed);
  atomic_store_explicit(&pool->remaining, region->chunks, memory_order_relaxed);
  int64_t begin = 0;
  for (int64_t i = 0; i < width; ++i) {
    int64_t end = region->chunks * (i + 1) / width;
    atomic_store(&pool->slots[i].ticket, (uint64_t)end << 32 | (uint64_t)begin);
    begin = end;
  }
  for (int64_t i = 1; i < width; ++i)
    wake(&pool->slots[i]);
  work(pool, 0);
  if (!spinWhile(pool, &pool->slots[0], isUnfinished))
    return;
  while (atomic_load(&pool->remaining) != 0) {
    atomic_store(&pool->callerAsleep, 1);
    if (atomic_load(&pool->remaining) == 0)
      break;
    futexWait(&pool->callerAsleep, 1);
  }
  atomic_store(&pool->callerAsleep, 0);
}
