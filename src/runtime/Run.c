/*===- Run.c
 * ----------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "Run.h"

#include "LastError.h"
#include "Tensor.h"

#include <string.h>
#include <time.h>

typedef struct Call {
  tlm_context *context;
  const tlm_tensor *inputs;
  const tlm_tensor *outputs;
  int32_t inputCount;
  int32_t outputCount;
} Call;

static tlm_status checkAll(const TlmTensorRecord *expected,
                           uint32_t expectedCount, const tlm_tensor *tensors,
                           int32_t count, const char *kind) {
  if (count < 0 || (uint32_t)count != expectedCount)
    return tlmFail(TLM_ERROR_ARGUMENT, "expected %u %s(s), got %d",
                   expectedCount, kind, count);
  if (count > 0 && !tensors)
    return tlmFail(TLM_ERROR_ARGUMENT, "%ss is null", kind);
  for (int32_t i = 0; i < count; ++i) {
    tlm_status status = tlmTensorCheck(&expected[i], &tensors[i], kind, i);
    if (status != TLM_OK)
      return status;
  }
  return TLM_OK;
}

/* Index of the first plan whose guard the inputs' dims fit, or -1. */
static int32_t choosePlan(const Call *call) {
  for (uint32_t i = 0; i < tlmPlan()->plans.count; ++i) {
    const int64_t *guard = (const int64_t *)tlmAt(tlmPlans()[i].guard.offset);
    int fits = 1;
    for (int32_t j = 0; j < call->inputCount; ++j)
      for (int32_t k = 0; k < call->inputs[j].rank; ++k, ++guard)
        fits &= *guard < 0 || *guard == call->inputs[j].dims[k];
    if (fits)
      return (int32_t)i;
  }
  return -1;
}

static tlm_status stage(tlm_context *context, TlmTensorState *state,
                        const tlm_tensor *tensor) {
  if (!state->staged)
    state->staged = (char *)tlmModelAllocate(context->model,
                                             (size_t)tlmTensorBytes(tensor));
  state->memory = state->staged;
  return state->staged ? TLM_OK
                       : tlmFail(TLM_ERROR_MEMORY, "run: out of memory");
}

static int overlaps(const tlm_tensor *a, const tlm_tensor *b) {
  uintptr_t aBegin, aEnd, bBegin, bEnd;
  tlmTensorRange(a, &aBegin, &aEnd);
  tlmTensorRange(b, &bBegin, &bEnd);
  return aBegin < bEnd && bBegin < aEnd;
}

/* Whether output `index` shares memory with an input or an earlier output. */
static int isAliased(const Call *call, int32_t index) {
  const tlm_tensor *output = &call->outputs[index];
  for (int32_t i = 0; i < call->inputCount; ++i)
    if (overlaps(output, &call->inputs[i]))
      return 1;
  for (int32_t i = 0; i < index; ++i)
    if (overlaps(output, &call->outputs[i]))
      return 1;
  return 0;
}

static tlm_status bind(const Call *call) {
  tlm_context *context = call->context;
  for (int32_t i = 0; i < call->inputCount; ++i) {
    const tlm_tensor *input = &call->inputs[i];
    TlmTensorState *state = &context->inputs[i];
    state->memory = (char *)input->data;
    if (tlmTensorIsDense(input) || tlmTensorBytes(input) == 0)
      continue;
    tlm_status status = stage(context, state, input);
    if (status != TLM_OK)
      return status;
    tlmTensorGather(input, state->staged);
  }
  for (int32_t i = 0; i < call->outputCount; ++i) {
    const tlm_tensor *output = &call->outputs[i];
    TlmTensorState *state = &context->outputs[i];
    state->memory = (char *)output->data;
    if (tlmTensorBytes(output) == 0 ||
        (tlmTensorIsDense(output) && !isAliased(call, i)))
      continue;
    tlm_status status = stage(context, state, output);
    if (status != TLM_OK)
      return status;
  }
  return TLM_OK;
}

static void bindArguments(const tlm_context *context,
                          const TlmPlanState *state) {
  for (uint32_t i = 0; i < state->bindingCount; ++i) {
    const TlmBinding *binding = &state->bindings[i];
    state->args[binding->argument] =
        binding->place == TLM_PLACE_INPUT
            ? context->inputs[binding->index].memory
            : context->outputs[binding->index].memory;
  }
}

/* For the parallel_for hook: worker `index` of the region. */
typedef struct HookedRegion {
  const TlmRegion *region;
  int64_t workers;
} HookedRegion;

static void runHooked(void *argument, int64_t index) {
  const HookedRegion *hooked = (const HookedRegion *)argument;
  const TlmRegion *region = hooked->region;
  int64_t begin = region->firstChunk + region->chunks * index / hooked->workers;
  int64_t end =
      region->firstChunk + region->chunks * (index + 1) / hooked->workers;
  uint32_t rounding = tlmDefaultRounding();
  region->function(region->args,
                   region->scratch + index * region->scratchStride, begin, end);
  tlmRestoreRounding(rounding);
}

static void runStage(const tlm_model *model, const TlmRegion *region,
                     TlmPoolUse use) {
  int64_t workers = model->threads;
  workers = region->parallelism < workers ? region->parallelism : workers;
  workers = region->chunks < workers ? region->chunks : workers;
  if (workers > 1 && model->options.parallel_for) {
    HookedRegion hooked = {region, workers};
    model->options.parallel_for(model->options.parallel_for_user, workers,
                                runHooked, &hooked);
    return;
  }
  if (workers > 1 && use == TLM_POOL_OWNED)
    tlmPoolRun(model->pool, region);
  else if (region->chunks > 0)
    region->function(region->args, region->scratch, region->firstChunk,
                     region->firstChunk + region->chunks);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* All chunks of all stages, or some of the only one. */
static void runPart(tlm_context *context, const TlmPlanState *state,
                    const TlmPlanRecord *plan, const TlmPartRecord *part,
                    TlmPoolUse use) {
  uint32_t index = part->step;
  const TlmStepRecord *step =
      (const TlmStepRecord *)tlmAt(plan->steps.offset) + index;
  const TlmKernelRecord *kernel = &tlmKernels()[step->kernel];
  const TlmStageRecord *stages =
      (const TlmStageRecord *)tlmAt(kernel->stages.offset);
  for (uint32_t i = 0; i < kernel->stages.count; ++i) {
    TlmRegion region = {tlmStageTable[stages[i].function],
                        state->args + state->firstArg[index],
                        context->workerScratch,
                        context->workerScratchStride,
                        part->firstChunk,
                        part->chunks ? part->chunks : stages[i].chunks,
                        kernel->maxParallelism};
    runStage(context->model, &region, use);
  }
}

/* The chunks of a region are lists; args[0] is this. */
typedef struct Lists {
  const TlmPlanState *state;
  const TlmPlanRecord *plan;
  const TlmPartRecord *parts;
  const uint32_t *ends;
} Lists;

static void runLists(void *const *args, void *workerScratch, int64_t begin,
                     int64_t end) {
  const Lists *lists = (const Lists *)args[0];
  const TlmStepRecord *steps =
      (const TlmStepRecord *)tlmAt(lists->plan->steps.offset);
  uint32_t first = begin > 0 ? lists->ends[begin - 1] : 0;
  for (uint32_t i = first; i < lists->ends[end - 1]; ++i) {
    const TlmPartRecord *part = &lists->parts[i];
    const TlmKernelRecord *kernel = &tlmKernels()[steps[part->step].kernel];
    const TlmStageRecord *stage =
        (const TlmStageRecord *)tlmAt(kernel->stages.offset);
    tlmStageTable[stage->function](
        lists->state->args + lists->state->firstArg[part->step], workerScratch,
        part->firstChunk, part->firstChunk + part->chunks);
  }
}

static const TlmBorderRecord *borderAt(const TlmPlanRecord *plan,
                                       uint32_t index) {
  return (const TlmBorderRecord *)tlmAt(plan->borders.offset) + index;
}

static void runPhase(tlm_context *context, const TlmPlanState *state,
                     const TlmPlanRecord *plan, const TlmPhaseRecord *phase,
                     TlmPoolUse use) {
  const TlmPartRecord *parts =
      (const TlmPartRecord *)tlmAt(phase->parts.offset);
  const uint32_t *borders = (const uint32_t *)tlmAt(phase->borders.offset);
  for (uint32_t i = 0; i < phase->borders.count; ++i)
    tlmFillBorder(borderAt(plan, borders[i]), state->arena);
  if (phase->listEnds.count == 0) {
    for (uint32_t i = 0; i < phase->parts.count; ++i)
      runPart(context, state, plan, &parts[i], use);
    return;
  }
  Lists lists = {state, plan, parts,
                 (const uint32_t *)tlmAt(phase->listEnds.offset)};
  void *args[] = {&lists};
  TlmRegion region = {runLists,
                      args,
                      context->workerScratch,
                      context->workerScratchStride,
                      0,
                      phase->listEnds.count,
                      phase->listEnds.count};
  runStage(context->model, &region, use);
}

static void runSteps(tlm_context *context, const TlmPlanState *state,
                     const TlmPlanRecord *plan,
                     const tlm_run_options *options) {
  tlm_model *model = context->model;
  int workers = model->parallelism < model->threads ? (int)model->parallelism
                                                    : model->threads;
  TlmPoolUse use =
      model->pool ? tlmPoolEnter(model->pool, workers) : TLM_POOL_SERIAL;
  uint32_t rounding = tlmDefaultRounding();
  tlm_step_hook hook = options ? options->step_hook : NULL;
  const TlmPhaseRecord *phases =
      (const TlmPhaseRecord *)tlmAt(plan->phases.offset);
  for (uint32_t i = 0; !hook && i < plan->phases.count; ++i)
    runPhase(context, state, plan, &phases[i], use);
  /* Whoever looks at steps sees each of them whole. */
  for (uint32_t i = 0; hook && i < plan->steps.count; ++i) {
    TlmPartRecord whole = {i, 0, 0, 0};
    int64_t begin = now();
    const TlmStepRecord *steps =
        (const TlmStepRecord *)tlmAt(plan->steps.offset);
    if (steps[i].border)
      tlmFillBorder(borderAt(plan, steps[i].border - 1), state->arena);
    runPart(context, state, plan, &whole, use);
    hook(options->step_hook_user, context, (int32_t)i, begin, now());
  }
  tlmRestoreRounding(rounding);
  if (model->pool)
    tlmPoolLeave(model->pool, use);
}

/* Outputs that no step wrote in place. */
static void finish(const Call *call, const TlmPlanState *state,
                   const TlmPlanRecord *plan) {
  tlm_context *context = call->context;
  const TlmCopyRecord *copies =
      (const TlmCopyRecord *)tlmAt(plan->copies.offset);
  for (uint32_t i = 0; i < plan->copies.count; ++i)
    if (copies[i].bytes > 0)
      memcpy(context->outputs[copies[i].output].memory,
             tlmContextMemory(context, state, &copies[i].source),
             (size_t)copies[i].bytes);
  for (int32_t i = 0; i < call->outputCount; ++i)
    if (context->outputs[i].memory != call->outputs[i].data)
      tlmTensorScatter(&call->outputs[i], context->outputs[i].memory);
}

static tlm_status runBusy(const Call *call, const tlm_run_options *options) {
  tlm_context *context = call->context;
  int32_t index = choosePlan(call);
  if (index < 0)
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "no plan of this artifact fits the shapes of the inputs");
  tlm_status status = bind(call);
  if (status != TLM_OK)
    return status;
  const TlmPlanState *state = &context->states[index];
  bindArguments(context, state);
  context->running = state;
  runSteps(context, state, &tlmPlans()[index], options);
  finish(call, state, &tlmPlans()[index]);
  context->running = NULL;
  return TLM_OK;
}

tlm_status tlmContextRun(tlm_context *context, const tlm_tensor *inputs,
                         int32_t inputCount, const tlm_tensor *outputs,
                         int32_t outputCount, const tlm_run_options *options) {
  if (!context)
    return tlmFail(TLM_ERROR_ARGUMENT, "run: context is null");
  if (options && options->struct_size < sizeof(tlm_run_options))
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "run options: struct_size is %zu, expected %zu",
                   options->struct_size, sizeof(tlm_run_options));
  tlm_status status = checkAll(tlmInputs(), tlmPlan()->inputs.count, inputs,
                               inputCount, "input");
  if (status == TLM_OK)
    status = checkAll(tlmOutputs(), tlmPlan()->outputs.count, outputs,
                      outputCount, "output");
  if (status != TLM_OK)
    return status;
  if (atomic_exchange(&context->busy, 1))
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "run: the context is in use by another call; every "
                   "concurrent caller needs its own");
  Call call = {context, inputs, outputs, inputCount, outputCount};
  status = runBusy(&call, options);
  atomic_store(&context->busy, 0);
  return status;
}
