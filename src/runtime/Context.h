/*===- Context.h - the buffers of one call at a time
 * ------------------------===*/

#ifndef TLM_RUNTIME_CONTEXT_H
#define TLM_RUNTIME_CONTEXT_H

#include "Model.h"

#include <stdatomic.h>

/* An argument that lies in user memory and changes with every run. */
typedef struct TlmBinding {
  uint32_t argument; /* index into TlmPlanState.args */
  int32_t place;     /* TLM_PLACE_INPUT or TLM_PLACE_OUTPUT */
  int32_t index;
} TlmBinding;

/* One plan of the table, made ready. */
typedef struct TlmPlanState {
  char *arena;
  void **args;        /* of all steps: operands, then the shared scratch */
  uint32_t *firstArg; /* per step */
  TlmBinding *bindings;
  uint32_t bindingCount;
} TlmPlanState;

/* A signature tensor during a run. */
typedef struct TlmTensorState {
  char *memory; /* what kernels see */
  char *staged; /* own dense copy, made when first needed */
} TlmTensorState;

struct tlm_context {
  tlm_model *model;
  void *block; /* arenas, shared scratch, workers' scratch */
  char *scratch;
  char *workerScratch;
  int64_t workerScratchStride;
  TlmPlanState *states;
  TlmTensorState *inputs;
  TlmTensorState *outputs;
  const TlmPlanState *running; /* NULL outside of a run */
  _Atomic int busy;
};

void tlmFillBorder(const TlmBorderRecord *border, char *arena);

tlm_status tlmContextCreate(tlm_model *model, tlm_context **context);
void tlmContextDestroy(tlm_context *context);

/* The memory of a location, in a run for inputs and outputs. */
char *tlmContextMemory(const tlm_context *context, const TlmPlanState *state,
                       const TlmLocation *location);

#endif /* TLM_RUNTIME_CONTEXT_H */
