/*===- Model.h - an opened artifact
 * -----------------------------------------===*/

#ifndef TLM_RUNTIME_MODEL_H
#define TLM_RUNTIME_MODEL_H

#include "Plan.h"
#include "Pool.h"
#include "Weights.h"

struct tlm_model {
  tlm_options options; /* what the caller's version had, then zeros */
  TlmWeights weights;
  int threads;
  TlmPool *pool; /* NULL when options.parallel_for replaces it */
  /* Kernels' greatest needs: */
  int64_t scratchBytes;
  int64_t workerScratchBytes;
  int64_t parallelism;
  /* As many NULLs as the highest rank of the signature has dims. */
  const char **symbols;
};

tlm_status tlmModelOpen(const tlm_options *options, tlm_model **model);
void tlmModelClose(tlm_model *model);

/* Memory for tensors: through the hooks, else from malloc; not cleared. From
 * 1 MiB on it is aligned for huge pages and asks for them. NULL on failure. */
void *tlmModelAllocate(const tlm_model *model, size_t size);
void tlmModelRelease(const tlm_model *model, void *memory);

#endif /* TLM_RUNTIME_MODEL_H */
