/*===- Api.c - the exported table
 * -------------------------------------------===*/

#include "Context.h"
#include "LastError.h"
#include "Run.h"
#include "Tensor.h"

static int32_t inputCount(const tlm_model *model) {
  (void)model;
  return (int32_t)tlmPlan()->inputs.count;
}

static int32_t outputCount(const tlm_model *model) {
  (void)model;
  return (int32_t)tlmPlan()->outputs.count;
}

static tlm_status checkAsk(const tlm_model *model, int32_t index,
                           uint32_t count, const void *answer,
                           const char *kind) {
  if (!model || !answer)
    return tlmFail(TLM_ERROR_ARGUMENT, "%s_info: model or info is null", kind);
  if (index < 0 || (uint32_t)index >= count)
    return tlmFail(TLM_ERROR_ARGUMENT, "%s_info: index is %d, there are %u",
                   kind, index, count);
  return TLM_OK;
}

static tlm_status tensorInfo(const tlm_model *model,
                             const TlmTensorRecord *tensor,
                             tlm_tensor_info *info) {
  if (info->struct_size < sizeof(tlm_tensor_info))
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "tensor info: struct_size is %zu, expected %zu",
                   info->struct_size, sizeof(tlm_tensor_info));
  info->name = tlmText(tensor->name);
  info->dtype = tensor->dtype;
  info->rank = tensor->rank;
  info->dims = (const int64_t *)tlmAt(tensor->dims);
  info->symbols = model->symbols;
  return TLM_OK;
}

static tlm_status inputInfo(const tlm_model *model, int32_t index,
                            tlm_tensor_info *info) {
  tlm_status status =
      checkAsk(model, index, tlmPlan()->inputs.count, info, "input");
  return status == TLM_OK ? tensorInfo(model, &tlmInputs()[index], info)
                          : status;
}

static tlm_status outputInfo(const tlm_model *model, int32_t index,
                             tlm_tensor_info *info) {
  tlm_status status =
      checkAsk(model, index, tlmPlan()->outputs.count, info, "output");
  return status == TLM_OK ? tensorInfo(model, &tlmOutputs()[index], info)
                          : status;
}

static const TlmStepRecord *stepsOf(const TlmPlanRecord *plan) {
  return (const TlmStepRecord *)tlmAt(plan->steps.offset);
}

static const TlmBufferRecord *outputOf(const TlmPlanRecord *plan,
                                       int32_t step) {
  return (const TlmBufferRecord *)tlmAt(plan->buffers.offset) +
         stepsOf(plan)[step].outputBuffer;
}

/* Profiles speak of the first plan: the table has one entry today. */
static int32_t stepCount(const tlm_model *model) {
  (void)model;
  return (int32_t)tlmPlans()[0].steps.count;
}

static tlm_status stepInfo(const tlm_model *model, int32_t step,
                           tlm_step_info *info) {
  tlm_status status =
      checkAsk(model, step, tlmPlans()[0].steps.count, info, "step");
  if (status != TLM_OK)
    return status;
  if (info->struct_size < sizeof(tlm_step_info))
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "step info: struct_size is %zu, expected %zu",
                   info->struct_size, sizeof(tlm_step_info));
  const TlmStepRecord *record = &stepsOf(&tlmPlans()[0])[step];
  const TlmKernelRecord *kernel = &tlmKernels()[record->kernel];
  info->name = tlmText(record->name);
  info->kernel = tlmText(kernel->label);
  info->task_key = tlmText(kernel->key);
  info->output_name = tlmText(outputOf(&tlmPlans()[0], step)->valueName);
  info->flops = kernel->flops;
  info->bytes = kernel->bytes;
  info->stages = (int32_t)kernel->stages.count;
  info->max_parallelism = (int32_t)kernel->maxParallelism;
  return TLM_OK;
}

static tlm_status stepOutput(const tlm_context *context, int32_t step,
                             tlm_buffer_view *view) {
  if (!context || !view)
    return tlmFail(TLM_ERROR_ARGUMENT, "step_output: context or view is null");
  if (view->struct_size < sizeof(tlm_buffer_view))
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "buffer view: struct_size is %zu, expected %zu",
                   view->struct_size, sizeof(tlm_buffer_view));
  const TlmPlanState *state = context->running;
  if (!state)
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "step_output: only valid inside a step hook");
  const TlmPlanRecord *plan = &tlmPlans()[state - context->states];
  if (step < 0 || (uint32_t)step >= plan->steps.count)
    return tlmFail(TLM_ERROR_ARGUMENT, "step_output: step is %d, there are %u",
                   step, plan->steps.count);
  const TlmBufferRecord *buffer = outputOf(plan, step);
  view->data = tlmContextMemory(context, state, &buffer->location) +
               buffer->origin * tlmDtypeSize(buffer->dtype);
  view->dtype = buffer->dtype;
  view->rank = buffer->rank;
  view->dims = (const int64_t *)tlmAt(buffer->dims);
  view->strides = (const int64_t *)tlmAt(buffer->strides);
  return TLM_OK;
}

static const char *manifest(void) { return tlmManifest; }

__attribute__((visibility("default"))) const tlm_api *
tlm_artifact_api(uint32_t abiVersion) {
  static const tlm_api api = {
      sizeof(tlm_api), TLM_ABI_VERSION,  tlmLastError,      tlmModelOpen,
      tlmModelClose,   inputCount,       outputCount,       inputInfo,
      outputInfo,      tlmContextCreate, tlmContextDestroy, tlmContextRun,
      stepCount,       stepInfo,         stepOutput,        manifest,
  };
  return abiVersion == TLM_ABI_VERSION ? &api : NULL;
}
