/*===- Tensor.h - checking and copying user tensors
 * -------------------------===*/

#ifndef TLM_RUNTIME_TENSOR_H
#define TLM_RUNTIME_TENSOR_H

#include "Plan.h"

/* Bytes of one element; 0 for an unknown dtype. */
int64_t tlmDtypeSize(int32_t dtype);

/* Compares a user's tensor with the signature. kind = "input" or "output". */
tlm_status tlmTensorCheck(const TlmTensorRecord *expected,
                          const tlm_tensor *tensor, const char *kind,
                          int32_t position);

int64_t tlmTensorBytes(const tlm_tensor *tensor);

/* Row-major and aligned to its elements: kernels may use the memory itself. */
int tlmTensorIsDense(const tlm_tensor *tensor);

/* The bytes [*begin, *end) that the tensor's elements lie in. */
void tlmTensorRange(const tlm_tensor *tensor, uintptr_t *begin, uintptr_t *end);

/* Copies between the tensor and row-major memory. */
void tlmTensorGather(const tlm_tensor *tensor, void *dense);
void tlmTensorScatter(const tlm_tensor *tensor, const void *dense);

#endif /* TLM_RUNTIME_TENSOR_H */
