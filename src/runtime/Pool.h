/*===- Pool.h - the worker threads of one model -----------------------------===
 *
 * A region runs the chunks [0, count) of one stage on the caller, who is
 * worker 0, and on up to threads - 1 workers. Every participant owns a
 * contiguous range of chunks, so that neighbouring stages find their data in
 * the same core's cache, and helps the others when it is done. A region is over
 * when all chunks are; the caller never waits for a worker that has claimed
 * nothing, so a sleeping or preempted worker costs its share of the work only.
 * Which worker runs a chunk never matters to the result.
 *
 * Between regions workers spin, for a bounded time, then sleep. They also stop
 * spinning as soon as they notice that they lost the CPU meanwhile: then
 * somebody else needs it, be it another artifact's pool or another process.
 *
 * One caller at a time owns the pool, from poolEnter to poolLeave. Others, and
 * everyone while more callers than CPUs are about, run serially. After a fork
 * the child makes itself new workers when it first enters.
 *
 *===------------------------------------------------------------------------===*/

#ifndef TLM_RUNTIME_POOL_H
#define TLM_RUNTIME_POOL_H

#include <stdint.h>

typedef struct TlmPool TlmPool;

/* Kernel.h, "stage". */
typedef void (*TlmStageFunction)(void *const *args, void *workerScratch,
                                 int64_t begin, int64_t end);

typedef struct TlmRegion {
  TlmStageFunction function;
  void *const *args;
  /* Worker w uses scratch + w * scratchStride. */
  char *scratch;
  int64_t scratchStride;
  int64_t firstChunk; /* chunk i of the region is firstChunk + i of the stage */
  int64_t chunks;
  int64_t parallelism; /* workers at most */
} TlmRegion;

/* NULL when out of memory. Fewer threads than asked for are no failure.
 * `cpus` = CPUs that this process may use; a region never takes more workers.
 */
TlmPool *tlmPoolCreate(int threads, int cpus);
/* Joins the workers. */
void tlmPoolDestroy(TlmPool *pool);

int tlmPoolThreads(const TlmPool *pool);
/* Whether a thread of it lost its CPU to somebody a moment ago: regions are
 * slower until that is forgotten. */
int tlmPoolIsContended(TlmPool *pool);

typedef enum TlmPoolUse {
  TLM_POOL_OWNED = 0,    /* may call tlmPoolRun */
  TLM_POOL_SERIAL = 1,   /* must run serially */
  TLM_POOL_UNCOUNTED = 2 /* the same, while a forked child makes workers */
} TlmPoolUse;

/* To be paired with tlmPoolLeave, whatever it returns. Wakes the first
 * `workers` workers, the caller being one of them. */
TlmPoolUse tlmPoolEnter(TlmPool *pool, int workers);
void tlmPoolLeave(TlmPool *pool, TlmPoolUse use);

/* Runs the region; called by the owner. */
void tlmPoolRun(TlmPool *pool, const TlmRegion *region);

/* Sets the thread's floating point modes to the default (denormals kept, round
 * to nearest), which the workers have too; returns what they were. */
uint32_t tlmDefaultRounding(void);
void tlmRestoreRounding(uint32_t state);

#endif /* TLM_RUNTIME_POOL_H */
