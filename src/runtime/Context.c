/*===- Context.c
 * ------------------------------------------------------------===*/

#include "Context.h"

#include "LastError.h"

#include <stdlib.h>
#include <string.h>

static size_t roundUp(int64_t size, size_t to) {
  return ((size_t)size + to - 1) & ~(to - 1);
}

static char *fillRun(char *at, int64_t elements, int64_t size,
                     uint64_t pattern) {
  if (size == sizeof(float)) {
    for (int64_t i = 0; i < elements; ++i, at += sizeof(float))
      memcpy(at, &pattern, sizeof(float));
    return at;
  }
  for (int64_t i = 0; i < elements; ++i, at += size)
    memcpy(at, &pattern, (size_t)size);
  return at;
}

void tlmFillBorder(const TlmBorderRecord *border, char *arena) {
  int64_t size = border->elementBytes, inner = border->inner;
  int64_t row = (border->left + border->width + border->right) * inner;
  char *at = arena + border->offset;
  for (int64_t plane = 0; plane < border->planes; ++plane) {
    at = fillRun(at, border->top * row, size, border->pattern);
    for (int64_t y = 0; y < border->height; ++y) {
      at = fillRun(at, border->left * inner, size, border->pattern);
      at += border->width * inner * size;
      at = fillRun(at, border->right * inner, size, border->pattern);
    }
    at = fillRun(at, border->bottom * row, size, border->pattern);
  }
}

char *tlmContextMemory(const tlm_context *context, const TlmPlanState *state,
                       const TlmLocation *location) {
  switch (location->place) {
  case TLM_PLACE_INPUT:
    return context->inputs[location->index].memory;
  case TLM_PLACE_OUTPUT:
    return context->outputs[location->index].memory;
  case TLM_PLACE_ARENA:
    return state->arena + location->offset;
  default: /* kernels only read weights */
    return (char *)(uintptr_t)context->model->weights.data + location->offset;
  }
}

/* All arguments but those in user memory, which are listed as bindings. */
static void fillArguments(tlm_context *context, TlmPlanState *state,
                          const TlmPlanRecord *plan) {
  const TlmStepRecord *steps = (const TlmStepRecord *)tlmAt(plan->steps.offset);
  uint32_t argument = 0;
  for (uint32_t i = 0; i < plan->steps.count; ++i) {
    const TlmLocation *operands =
        (const TlmLocation *)tlmAt(steps[i].operands.offset);
    state->firstArg[i] = argument;
    for (uint32_t j = 0; j < steps[i].operands.count; ++j, ++argument) {
      const TlmLocation *operand = &operands[j];
      if (operand->place == TLM_PLACE_INPUT ||
          operand->place == TLM_PLACE_OUTPUT)
        state->bindings[state->bindingCount++] =
            (TlmBinding){argument, operand->place, operand->index};
      else
        state->args[argument] = tlmContextMemory(context, state, operand);
    }
    state->args[argument++] = context->scratch;
  }
}

static int allocateState(TlmPlanState *state, const TlmPlanRecord *plan) {
  const TlmStepRecord *steps = (const TlmStepRecord *)tlmAt(plan->steps.offset);
  size_t args = 1;
  for (uint32_t i = 0; i < plan->steps.count; ++i)
    args += steps[i].operands.count + 1;
  state->args = (void **)calloc(args, sizeof(void *));
  state->bindings = (TlmBinding *)calloc(args, sizeof(TlmBinding));
  state->firstArg = (uint32_t *)calloc(plan->steps.count + 1, sizeof(uint32_t));
  return state->args && state->bindings && state->firstArg;
}

static int allocateTables(tlm_context *context) {
  const TlmPlanHeader *plan = tlmPlan();
  context->states =
      (TlmPlanState *)calloc(plan->plans.count, sizeof(TlmPlanState));
  context->inputs =
      (TlmTensorState *)calloc(plan->inputs.count + 1, sizeof(TlmTensorState));
  context->outputs =
      (TlmTensorState *)calloc(plan->outputs.count + 1, sizeof(TlmTensorState));
  if (!context->states || !context->inputs || !context->outputs)
    return 0;
  for (uint32_t i = 0; i < plan->plans.count; ++i)
    if (!allocateState(&context->states[i], &tlmPlans()[i]))
      return 0;
  return 1;
}

/* One block: the arena of every plan, shared scratch, scratch per worker. */
static int allocateBlock(tlm_context *context) {
  const tlm_model *model = context->model;
  size_t page = 4096, size = 0;
  for (uint32_t i = 0; i < tlmPlan()->plans.count; ++i)
    size += roundUp(tlmPlans()[i].arenaBytes, page);
  size_t scratch = roundUp(model->scratchBytes, page);
  size_t stride = roundUp(model->workerScratchBytes, page);
  size_t total = size + scratch + stride * (size_t)model->threads;
  if (!total)
    total = page;
  char *block = (char *)tlmModelAllocate(model, total);
  if (!block)
    return 0;
  /* Bytes of all ones are NaN in every float type. */
  memset(block, model->options.poison_arena ? 0xff : 0, total);
  context->block = block;
  for (uint32_t i = 0; i < tlmPlan()->plans.count; ++i) {
    context->states[i].arena = block;
    block += roundUp(tlmPlans()[i].arenaBytes, page);
  }
  context->scratch = block;
  context->workerScratch = block + scratch;
  context->workerScratchStride = (int64_t)stride;
  return 1;
}

tlm_status tlmContextCreate(tlm_model *model, tlm_context **context) {
  if (!context)
    return tlmFail(TLM_ERROR_ARGUMENT, "context_create: context is null");
  *context = NULL;
  if (!model)
    return tlmFail(TLM_ERROR_ARGUMENT, "context_create: model is null");
  tlm_context *created = (tlm_context *)calloc(1, sizeof(tlm_context));
  if (created)
    created->model = model;
  if (!created || !allocateTables(created) || !allocateBlock(created)) {
    tlmContextDestroy(created);
    return tlmFail(TLM_ERROR_MEMORY, "context_create: out of memory");
  }
  for (uint32_t i = 0; i < tlmPlan()->plans.count; ++i) {
    const TlmPlanRecord *plan = &tlmPlans()[i];
    const TlmBorderRecord *borders =
        (const TlmBorderRecord *)tlmAt(plan->borders.offset);
    for (uint32_t j = 0; j < plan->borders.count; ++j)
      if (!borders[j].everyRun)
        tlmFillBorder(&borders[j], created->states[i].arena);
    fillArguments(created, &created->states[i], plan);
  }
  *context = created;
  return TLM_OK;
}

void tlmContextDestroy(tlm_context *context) {
  if (!context)
    return;
  const TlmPlanHeader *plan = tlmPlan();
  for (uint32_t i = 0; context->states && i < plan->plans.count; ++i) {
    free(context->states[i].args);
    free(context->states[i].bindings);
    free(context->states[i].firstArg);
  }
  for (uint32_t i = 0; context->inputs && i < plan->inputs.count; ++i)
    tlmModelRelease(context->model, context->inputs[i].staged);
  for (uint32_t i = 0; context->outputs && i < plan->outputs.count; ++i)
    tlmModelRelease(context->model, context->outputs[i].staged);
  free(context->states);
  free(context->inputs);
  free(context->outputs);
  tlmModelRelease(context->model, context->block);
  free(context);
}
