/*===- Model.c
 * --------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "Model.h"

#include "CpuCount.h"
#include "LastError.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MaxThreads = 1024 };
static const size_t kHugePage = (size_t)2 << 20;
static const size_t kAlignment = 64;

static int fromEnvironment(const char *name) {
  const char *text = getenv(name);
  if (!text)
    return 0;
  char *end;
  long value = strtol(text, &end, 10);
  return end != text && (*end == 0 || *end == ',') && value > 0 &&
                 value <= MaxThreads
             ? (int)value
             : 0;
}

static int threadsFor(int32_t asked, int cpus) {
  if (asked > 0)
    return asked < MaxThreads ? asked : MaxThreads;
  int threads = fromEnvironment("TLM_NUM_THREADS");
  if (threads)
    return threads;
  threads = tlmPlan()->threads < cpus ? tlmPlan()->threads : cpus;
  int limit = fromEnvironment("OMP_NUM_THREADS");
  threads = limit && limit < threads ? limit : threads;
  return threads > 1 ? threads : 1;
}

static void measureKernels(tlm_model *model) {
  const TlmKernelRecord *kernels = tlmKernels();
  model->parallelism = 1;
  for (uint32_t i = 0; i < tlmPlan()->kernels.count; ++i) {
    const TlmKernelRecord *kernel = &kernels[i];
    if (kernel->scratchBytes > model->scratchBytes)
      model->scratchBytes = kernel->scratchBytes;
    if (kernel->workerScratchBytes > model->workerScratchBytes)
      model->workerScratchBytes = kernel->workerScratchBytes;
    if (kernel->maxParallelism > model->parallelism)
      model->parallelism = kernel->maxParallelism;
  }
}

static int32_t highestRank(void) {
  int32_t rank = 1;
  for (uint32_t i = 0; i < tlmPlan()->inputs.count; ++i)
    rank = tlmInputs()[i].rank > rank ? tlmInputs()[i].rank : rank;
  for (uint32_t i = 0; i < tlmPlan()->outputs.count; ++i)
    rank = tlmOutputs()[i].rank > rank ? tlmOutputs()[i].rank : rank;
  return rank;
}

static tlm_status copyOptions(const tlm_options *options, tlm_model *model) {
  model->options.struct_size = sizeof(tlm_options);
  if (!options)
    return TLM_OK;
  size_t least = offsetof(tlm_options, threads) + sizeof(options->threads);
  if (options->struct_size < least)
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "options: struct_size is %zu, expected %zu",
                   options->struct_size, sizeof(tlm_options));
  size_t size = options->struct_size < sizeof(tlm_options)
                    ? options->struct_size
                    : sizeof(tlm_options);
  memcpy(&model->options, options, size);
  model->options.struct_size = sizeof(tlm_options);
  if (options->threads < 0)
    return tlmFail(TLM_ERROR_ARGUMENT, "options: threads is %d",
                   options->threads);
  if (!model->options.allocate != !model->options.release)
    return tlmFail(TLM_ERROR_ARGUMENT,
                   "options: allocate and release must be set together");
  return TLM_OK;
}

static tlm_status openInto(const tlm_options *options, tlm_model *model) {
  tlm_status status = copyOptions(options, model);
  if (status != TLM_OK)
    return status;
  status = tlmWeightsOpen(&model->weights);
  if (status != TLM_OK)
    return status;
  measureKernels(model);
  model->symbols = (const char **)calloc((size_t)highestRank(), sizeof(char *));
  int cpus = tlmUsableCpus();
  model->threads = threadsFor(model->options.threads, cpus);
  if (!model->options.parallel_for)
    model->pool = tlmPoolCreate(model->threads, cpus);
  if (!model->symbols || (!model->options.parallel_for && !model->pool))
    return tlmFail(TLM_ERROR_MEMORY, "%s: out of memory",
                   tlmText(tlmPlan()->name));
  return TLM_OK;
}

tlm_status tlmModelOpen(const tlm_options *options, tlm_model **model) {
  if (!model)
    return tlmFail(TLM_ERROR_ARGUMENT, "model_open: model is null");
  *model = NULL;
  tlm_status status = tlmPlanCheck();
  if (status != TLM_OK)
    return status;
  tlm_model *opened = (tlm_model *)calloc(1, sizeof(tlm_model));
  if (!opened)
    return tlmFail(TLM_ERROR_MEMORY, "model_open: out of memory");
  status = openInto(options, opened);
  if (status != TLM_OK) {
    tlmModelClose(opened);
    return status;
  }
  if (opened->options.log) {
    char text[256];
    snprintf(text, sizeof(text), "%s: compiled for %s, %d threads",
             tlmText(tlmPlan()->name), tlmText(tlmPlan()->cpu),
             opened->threads);
    opened->options.log(opened->options.log_user, text);
  }
  *model = opened;
  return TLM_OK;
}

void tlmModelClose(tlm_model *model) {
  if (!model)
    return;
  if (model->pool)
    tlmPoolDestroy(model->pool);
  tlmWeightsClose(&model->weights);
  free(model->symbols);
  free(model);
}

void *tlmModelAllocate(const tlm_model *model, size_t size) {
  int isBig = size >= kHugePage / 2;
  size_t alignment = isBig ? kHugePage : kAlignment;
  size = (size + alignment - 1) & ~(alignment - 1);
  if (model->options.allocate)
    return model->options.allocate(model->options.allocate_user, size,
                                   alignment);
  void *memory = aligned_alloc(alignment, size);
  if (memory && isBig)
    madvise(memory, size, MADV_HUGEPAGE); /* advice: may be refused */
  return memory;
}

void tlmModelRelease(const tlm_model *model, void *memory) {
  if (!memory)
    return;
  if (model->options.release)
    model->options.release(model->options.allocate_user, memory);
  else
    free(memory);
}
