/*===- tlm.h - the public C ABI of a compiled model -----------------------===//
 *
 * A compiled model is one shared object without dependencies beyond libc and
 * libm. It exports tlm_artifact_api (and <name>_api, the same function under
 * the model's own name, for programs that link several models); everything
 * else is hidden, so any number of models live in one process.
 *
 *   const tlm_api *api = tlm_artifact_api(TLM_ABI_VERSION);
 *   tlm_model *model;  tlm_context *context;
 *   if (api->model_open(NULL, &model) != TLM_OK) puts(api->last_error());
 *   api->context_create(model, &context);
 *   tlm_tensor in = {...}, out = {...};
 *   api->run(context, &in, 1, &out, 1, NULL);
 *
 * A model is immutable and shared; a context holds the buffers of one call at a
 * time, so every concurrent caller has its own. Functions return a tlm_status;
 * last_error() is per thread. Structs start with struct_size: fields are only
 * ever added at the end.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TLM_TLM_H
#define TLM_TLM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TLM_ABI_VERSION 1u

typedef enum tlm_status {
  TLM_OK = 0,
  TLM_ERROR_ARGUMENT = 1, /* wrong name, dtype, shape, count, null */
  TLM_ERROR_MEMORY = 2,   /* out of memory */
  TLM_ERROR_FILE = 3,     /* artifact or weights file unreadable or damaged */
  TLM_ERROR_MACHINE = 4,  /* this CPU lacks a feature the code needs */
  TLM_ERROR_VERSION = 5   /* artifact and caller disagree on a version */
} tlm_status;

/* ONNX TensorProto.DataType values. */
typedef enum tlm_dtype {
  TLM_F32 = 1,
  TLM_U8 = 2,
  TLM_I8 = 3,
  TLM_U16 = 4,
  TLM_I16 = 5,
  TLM_I32 = 6,
  TLM_I64 = 7,
  TLM_BOOL = 9,
  TLM_F16 = 10,
  TLM_F64 = 11,
  TLM_U32 = 12,
  TLM_U64 = 13,
  TLM_BF16 = 16
} tlm_dtype;

typedef struct tlm_tensor {
  size_t struct_size; /* sizeof(tlm_tensor) */
  void *data;         /* any alignment */
  int32_t dtype;      /* tlm_dtype */
  int32_t rank;
  const int64_t *dims;    /* rank entries */
  const int64_t *strides; /* in elements; NULL = row-major */
} tlm_tensor;

typedef struct tlm_tensor_info {
  size_t struct_size;
  const char *name;
  int32_t dtype;
  int32_t rank;
  const int64_t *dims;        /* -1 where symbolic */
  const char *const *symbols; /* per dim: its name, or NULL when static */
} tlm_tensor_info;

/* A kernel call of the plan, for profiles and verification. */
typedef struct tlm_step_info {
  size_t struct_size;
  const char *name;   /* of the ONNX node */
  const char *kernel; /* task label */
  const char *task_key;
  const char *output_name; /* graph value that the step writes */
  double flops;
  double bytes;
  int32_t stages;
  int32_t max_parallelism;
} tlm_step_info;

/* Where a step's output lies: dims in ONNX order, strides in elements. */
typedef struct tlm_buffer_view {
  size_t struct_size;
  const void *data;
  int32_t dtype;
  int32_t rank;
  const int64_t *dims;
  const int64_t *strides;
} tlm_buffer_view;

typedef struct tlm_model tlm_model;
typedef struct tlm_context tlm_context;

/* Runs body(arg, i) for i in [0, count), in any order, on any threads. */
typedef void (*tlm_parallel_for)(void *user, int64_t count,
                                 void (*body)(void *arg, int64_t index),
                                 void *arg);

typedef struct tlm_options {
  size_t struct_size;
  /* Workers; 0 = min(CPUs this process may use, what the model was compiled
   * for, OMP_NUM_THREADS). TLM_NUM_THREADS replaces the 0. More than the
   * kernels have chunks for are not used; any number gives the same bits. */
  int32_t threads;
  /* Optional hooks. */
  tlm_parallel_for parallel_for; /* replaces the model's own pool */
  void *parallel_for_user;
  void *(*allocate)(void *user, size_t size, size_t alignment);
  void (*release)(void *user, void *memory);
  void *allocate_user;
  void (*log)(void *user, const char *message);
  void *log_user;
  /* Not 0: fill the arena with NaN before first use (a test of the borders). */
  int32_t poison_arena;
} tlm_options;

/* Called after each step; times are nanoseconds of CLOCK_MONOTONIC. */
typedef void (*tlm_step_hook)(void *user, tlm_context *context, int32_t step,
                              int64_t begin_ns, int64_t end_ns);

typedef struct tlm_run_options {
  size_t struct_size;
  tlm_step_hook step_hook;
  void *step_hook_user;
} tlm_run_options;

typedef struct tlm_api {
  size_t struct_size;
  uint32_t abi_version;

  /* Message of the calling thread's last failed call. */
  const char *(*last_error)(void);

  /* Checks the CPU's features before anything else runs. options may be NULL.
   */
  tlm_status (*model_open)(const tlm_options *options, tlm_model **model);
  /* Joins the workers. Contexts must be gone. */
  void (*model_close)(tlm_model *model);

  int32_t (*input_count)(const tlm_model *model);
  int32_t (*output_count)(const tlm_model *model);
  tlm_status (*input_info)(const tlm_model *model, int32_t index,
                           tlm_tensor_info *info);
  tlm_status (*output_info)(const tlm_model *model, int32_t index,
                            tlm_tensor_info *info);

  tlm_status (*context_create)(tlm_model *model, tlm_context **context);
  void (*context_destroy)(tlm_context *context);

  /* Inputs and outputs by position in the signature. options may be NULL. */
  tlm_status (*run)(tlm_context *context, const tlm_tensor *inputs,
                    int32_t input_count, const tlm_tensor *outputs,
                    int32_t output_count, const tlm_run_options *options);

  int32_t (*step_count)(const tlm_model *model);
  tlm_status (*step_info)(const tlm_model *model, int32_t step,
                          tlm_step_info *info);
  /* The output of `step`; valid inside a step_hook for that step. */
  tlm_status (*step_output)(const tlm_context *context, int32_t step,
                            tlm_buffer_view *view);

  /* Manifest: JSON text with versions, needed features, plan, schedules. */
  const char *(*manifest)(void);
} tlm_api;

/* Returns NULL when the artifact cannot serve that version. */
const tlm_api *tlm_artifact_api(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif /* TLM_TLM_H */
