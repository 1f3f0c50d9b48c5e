/*===- Weights.h - the weights image of this artifact
 * -----------------------===*/

#ifndef TLM_RUNTIME_WEIGHTS_H
#define TLM_RUNTIME_WEIGHTS_H

#include "tlm/tlm.h"

#include <stddef.h>

typedef struct TlmWeights {
  const char *data;
  /* To unmap; NULL when the weights are a segment of the artifact. */
  void *mapping;
  size_t mappedBytes;
} TlmWeights;

/* Finds the image that the plan names: the artifact's last segment, or the side
 * file beside it. Refuses a missing, cut off or foreign one. The data itself is
 * hashed only when TLM_CHECK_WEIGHTS=1 is set, since that reads all of it. */
tlm_status tlmWeightsOpen(TlmWeights *weights);
void tlmWeightsClose(TlmWeights *weights);

#endif /* TLM_RUNTIME_WEIGHTS_H */
